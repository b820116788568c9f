// What a valid Config is: one table of rules, whose sentences the compiler prints and validate() returns.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm {

namespace detail {

// Template arguments are integers: clang 14 has no floating ones. Rounding away from zero keeps the sign of small numbers.
constexpr std::int64_t whole(std::integral auto value) { return static_cast<std::int64_t>(value); }
constexpr std::int64_t whole(double value) {
  if (value != value) return INT64_MIN;
  if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308) return value > 0 ? INT64_MAX : INT64_MIN;
  if (value >= 9e18 || value <= -9e18) return value > 0 ? INT64_MAX - 1 : INT64_MIN + 1;
  const auto toward_zero = static_cast<std::int64_t>(value);
  if (static_cast<double>(toward_zero) == value) return toward_zero;
  return value > 0 ? toward_zero + 1 : toward_zero - 1;
}

/// Whether the width of a head can be spoken of: the rules about n_heads, head_dim and d_model hold.
constexpr bool has_head_width(const Config& c) {
  return c.head_dim > 0 || (c.head_dim == 0 && c.d_model >= 1 && c.n_heads >= 1 && c.d_model % c.n_heads == 0);
}

inline std::string number_text(std::integral auto value) { return std::to_string(value); }
inline std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace detail

/// The rules. Each shows two numbers: what the config has, and what it is held against.
namespace config_rules {

// rule, first number, its value in config c, second number, its value, where the rule applies, what must hold, the sentence.
// A rule applies only where the rules that it builds on hold: one mistake breaks one rule.
// `require` is instantiated for a broken rule alone; compilers then print the sentence and rule::require<first, second>.
#define LLM_CONFIG_RULE(rule, a, a_value, b, b_value, applies, holds, sentence)                               \
  struct rule {                                                                                               \
    template <std::int64_t a, std::int64_t b>                                                                 \
    struct require {                                                                                          \
      static_assert(holds, sentence);                                                                         \
    };                                                                                                        \
    static constexpr std::int64_t first(const Config& c) { return detail::whole(a_value); }                   \
    static constexpr std::int64_t second([[maybe_unused]] const Config& c) { return detail::whole(b_value); } \
    static constexpr bool broken(const Config& c) {                                                           \
      [[maybe_unused]] const std::int64_t a = first(c);                                                       \
      [[maybe_unused]] const std::int64_t b = second(c);                                                      \
      return (applies) && !(holds);                                                                           \
    }                                                                                                         \
    static std::string text(const Config& c) {                                                                \
      return detail::concat(sentence, ": " #a " ", detail::number_text(a_value), ", " #b " ", second(c));     \
    }                                                                                                         \
  };

// clang-format off
LLM_CONFIG_RULE(vocab_size_positive, vocab_size, c.vocab_size, minimum, 1, true, vocab_size >= minimum,
                "llm::Config: vocab_size must be at least 1")
LLM_CONFIG_RULE(vocab_size_fits_token_ids, vocab_size, c.vocab_size, maximum, 2147483647, true, vocab_size <= maximum,
                "llm::Config: vocab_size exceeds the range of 32-bit token ids")
LLM_CONFIG_RULE(d_model_positive, d_model, c.d_model, minimum, 1, true, d_model >= minimum,
                "llm::Config: d_model must be at least 1")
LLM_CONFIG_RULE(n_layers_positive, n_layers, c.n_layers, minimum, 1, true, n_layers >= minimum,
                "llm::Config: n_layers must be at least 1")
LLM_CONFIG_RULE(n_heads_positive, n_heads, c.n_heads, minimum, 1, true, n_heads >= minimum,
                "llm::Config: n_heads must be at least 1")
LLM_CONFIG_RULE(n_kv_heads_not_negative, n_kv_heads, c.n_kv_heads, minimum, 0, true, n_kv_heads >= minimum,
                "llm::Config: n_kv_heads must not be negative (0 means as many as n_heads)")
LLM_CONFIG_RULE(head_dim_not_negative, head_dim, c.head_dim, minimum, 0, true, head_dim >= minimum,
                "llm::Config: head_dim must not be negative (0 means d_model / n_heads)")
LLM_CONFIG_RULE(ffn_dim_positive, ffn_dim, c.ffn_dim, minimum, 1, true, ffn_dim >= minimum,
                "llm::Config: ffn_dim must be at least 1")
LLM_CONFIG_RULE(max_seq_len_positive, max_seq_len, c.max_seq_len, minimum, 1, true, max_seq_len >= minimum,
                "llm::Config: max_seq_len must be at least 1")
LLM_CONFIG_RULE(sliding_window_not_negative, sliding_window, c.sliding_window, minimum, 0, true, sliding_window >= minimum,
                "llm::Config: sliding_window must not be negative (0 means that a position sees all earlier ones)")
LLM_CONFIG_RULE(norm_eps_positive, norm_eps, c.norm_eps, limit, 0, true, norm_eps > limit && norm_eps != INT64_MAX,
                "llm::Config: norm_eps must be greater than 0 and finite")
LLM_CONFIG_RULE(kv_heads_at_most_heads, n_heads, c.n_heads, n_kv_heads, c.n_kv_heads, n_heads >= 1, n_kv_heads <= n_heads,
                "llm::Config: n_kv_heads is larger than n_heads: are they swapped? (several query heads share one KV head)")
LLM_CONFIG_RULE(heads_divisible, n_heads, c.n_heads, n_kv_heads, c.n_kv_heads, n_kv_heads >= 1 && n_kv_heads <= n_heads,
                n_heads % n_kv_heads == 0,
                "llm::Config: n_heads must be a multiple of n_kv_heads (each KV head serves a group of query heads)")
LLM_CONFIG_RULE(d_model_divisible, d_model, c.d_model, n_heads, c.n_heads, c.head_dim == 0 && d_model >= 1 && n_heads >= 1,
                d_model % n_heads == 0,
                "llm::Config: head_dim is 0, which means d_model / n_heads, but d_model is not a multiple of n_heads")
LLM_CONFIG_RULE(rope_dim_not_negative, rope_dim, c.rope_dim, minimum, 0, true, rope_dim >= minimum,
                "llm::Config: rope_dim must not be negative (0 means that all of a head is rotated)")
LLM_CONFIG_RULE(rope_dim_needs_rope, rope_dim, c.rope_dim, rotary, std::int64_t{c.rotary()}, rope_dim >= 1, rotary == 1,
                "llm::Config: rope_dim is given, but position is neither rope_half nor rope_interleaved")
LLM_CONFIG_RULE(rope_dim_even, rope_dim, c.rope_width(), divisor, 2, detail::has_head_width(c) && rope_dim >= 1, rope_dim % divisor == 0,
                "llm::Config: rope_dim (0: head_dim) must be even, since RoPE rotates pairs of dimensions")
LLM_CONFIG_RULE(rope_dim_within_head, rope_dim, c.rope_width(), head_dim, c.head_width(), detail::has_head_width(c), rope_dim <= head_dim,
                "llm::Config: rope_dim must not exceed head_dim, the width of a head")
LLM_CONFIG_RULE(rope_theta_positive, rope_theta, c.rope_theta, limit, 0, c.rotary(), rope_theta > limit && rope_theta != INT64_MAX,
                "llm::Config: rope_theta must be greater than 0 and finite")
LLM_CONFIG_RULE(qk_norm_is_rms_norm, qk_norm, std::int64_t{c.qk_norm}, norm, static_cast<std::int64_t>(c.norm), qk_norm == 1,
                norm == static_cast<std::int64_t>(Norm::rms_norm),
                "llm::Config: qk_norm normalises heads by RMSNorm and needs norm = Norm::rms_norm, not layer_norm")
LLM_CONFIG_RULE(parameters_countable, parameters, detail::total_parameters(c).value, maximum, INT64_MAX / 16, true, parameters <= maximum,
                "llm::Config: the sizes are too large: 16 bytes of training state for each parameter exceed 2^63 bytes")
LLM_CONFIG_RULE(kv_cache_countable, elements, (detail::kv_elements_per_token(c) * c.max_seq_len).value, maximum, INT64_MAX / 8,
                detail::total_parameters(c).value <= INT64_MAX / 16, elements <= maximum,
                "llm::Config: the sizes are too large: the KV cache of max_seq_len tokens exceeds 2^63 bytes")
// clang-format on

#undef LLM_CONFIG_RULE

template <class... Rules>
struct List {};

using All = List<vocab_size_positive, vocab_size_fits_token_ids, d_model_positive, n_layers_positive, n_heads_positive,
                 n_kv_heads_not_negative, head_dim_not_negative, ffn_dim_positive, max_seq_len_positive, sliding_window_not_negative,
                 norm_eps_positive, kv_heads_at_most_heads, heads_divisible, d_model_divisible, rope_dim_not_negative, rope_dim_needs_rope,
                 rope_dim_even, rope_dim_within_head, rope_theta_positive, qk_norm_is_rms_norm, parameters_countable, kv_cache_countable>;

template <class... Rules>
constexpr bool all_hold(const Config& c, List<Rules...>) {
  return !(Rules::broken(c) || ...);
}

template <const Config& C, class Rule, bool Broken = Rule::broken(C)>
struct Report {};
template <const Config& C, class Rule>
struct Report<C, Rule, true> : Rule::template require<Rule::first(C), Rule::second(C)> {};

template <const Config& C, class Rules>
struct Reports;
template <const Config& C, class... Rules>
struct Reports<C, List<Rules...>> : Report<C, Rules>... {};

template <class... Rules>
std::vector<std::string> broken_rules(const Config& c, List<Rules...>) {
  std::vector<std::string> texts;
  ((Rules::broken(c) ? texts.push_back(Rules::text(c)) : void()), ...);
  return texts;
}

}  // namespace config_rules

/// Whether a compiled-in config is valid; asking gives no error.
template <const Config& C>
concept valid_config = config_rules::all_hold(C, config_rules::All{});

/// A base class that reports: one compile error for each broken rule, with its sentence and numbers; empty for a valid config.
/// A template over a config derives from it where the config is wrong, and so adds no errors of its own:
///
///     template <const Config& C>
///     class Model { ... };
///     template <const Config& C>
///     requires(!valid_config<C>) class Model<C> : BrokenRules<C> {};
///
/// The report is apart from the question since clang takes a constraint whose check failed for unsatisfied, negated or not.
template <const Config& C>
struct BrokenRules : config_rules::Reports<C, config_rules::All> {};

/// What is wrong with a config: for each broken rule its sentence and the two numbers; empty when it is valid.
inline std::vector<std::string> validate(const Config& c) { return config_rules::broken_rules(c, config_rules::All{}); }

/// Throws ConfigError with every broken rule of a config, one a line; `source` names where it comes from, a file for instance.
inline void require_valid(const Config& config, std::string_view source = {}) {
  const std::vector<std::string> broken = validate(config);
  if (broken.empty()) return;
  std::string text(source);
  const char* separator = source.empty() ? "" : ": ";
  for (const std::string& sentence : broken) {
    text += separator;
    text += sentence;
    separator = "\n";
  }
  throw ConfigError(text);
}

}  // namespace llm
