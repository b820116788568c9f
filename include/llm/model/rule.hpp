// One rule of a valid Config: what the tables of rules are made of.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <llm/core/error.hpp>
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

/// Whether the width of a head can be spoken of: the rules about n_heads, head_dim and d_model, or those about mla's parts, hold.
constexpr bool has_head_width(const Config& c) {
  if (c.head_dim != 0) return c.head_dim > 0;
  if (c.latent_attention()) return c.mla.nope_dim >= 0 && c.mla.rope_dim >= 1;
  return c.d_model >= 1 && c.n_heads >= 1 && c.d_model % c.n_heads == 0;
}

inline std::string number_text(std::integral auto value) { return std::to_string(value); }
inline std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace detail

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

/// A set of rules. Each set is a struct of its own that derives from this, so that compilers print its name and not its rules.
template <class... Rules>
struct List {
  template <std::size_t I>
  using rule = std::tuple_element_t<I, std::tuple<Rules...>>;
  static constexpr std::size_t size = sizeof...(Rules);
  static constexpr std::size_t none = SIZE_MAX;

  static constexpr bool all_hold(const Config& c) { return !(Rules::broken(c) || ...); }
  /// The first broken rule from this one on, or none.
  static constexpr std::size_t next_broken(const Config& c, std::size_t from) {
    const bool broken[] = {Rules::broken(c)...};
    while (from < size && !broken[from]) ++from;
    return from < size ? from : none;
  }
  static void add_broken(const Config& c, std::vector<std::string>& texts) {
    ((Rules::broken(c) ? texts.push_back(Rules::text(c)) : void()), ...);
  }
};

/// One compile error for each rule of the set that C breaks.
template <const Config& C, class Set, std::size_t I = Set::next_broken(C, 0)>
struct Reports : Set::template rule<I>::template require<Set::template rule<I>::first(C), Set::template rule<I>::second(C)>,
                 Reports<C, Set, Set::next_broken(C, I + 1)> {};
template <const Config& C, class Set>
struct Reports<C, Set, SIZE_MAX> {};

}  // namespace config_rules
}  // namespace llm
