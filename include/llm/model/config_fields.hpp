// The fields of a Config by name: for files, comparisons and printing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/model/config.hpp>

namespace llm {

namespace detail {

/// The names of an enum's values, in their order.
template <class E>
inline constexpr std::array<std::string_view, 0> enum_names{};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Norm>{"rms_norm", "layer_norm"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Rounding>{"round_then_gain", "gain_then_round"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<NormPosition>{"pre", "post"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Position>{"rope_half", "rope_interleaved", "learned", "none"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<Mlp>{"swiglu", "gelu_tanh", "gelu_erf"};

}  // namespace detail

/// The name of an enum value in a Config: "rope_half".
template <class E>
requires std::is_enum_v<E>
constexpr std::string_view enum_name(E value) {
  const auto at = static_cast<std::size_t>(value);
  return at < detail::enum_names<E>.size() ? detail::enum_names<E>[at] : std::string_view("?");
}

/// Sets `value` to the enum value of this name; false when there is none.
template <class E>
requires std::is_enum_v<E>
constexpr bool parse_enum(std::string_view name, E& value) {
  for (std::size_t i = 0; i < detail::enum_names<E>.size(); ++i) {
    if (detail::enum_names<E>[i] != name) continue;
    value = static_cast<E>(i);
    return true;
  }
  return false;
}

/// Calls f("vocab_size", config.vocab_size) and so on for every field, in the order of their declaration. C is Config or const Config;
/// a field is std::int64_t, double, bool or one of the enums.
template <class C, class F>
constexpr void for_each_field(C& config, F&& f) {
  // The binding names every field: a field that is added to Config and not here does not compile.
  auto& [vocab_size, d_model, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, max_seq_len, rope_theta, norm_eps, tie_embeddings, norm,
         norm_rounding, norm_position, position, rope_dim, qk_norm, mlp, qkv_bias, attention_out_bias, mlp_bias, sliding_window] = config;
  f("vocab_size", vocab_size);
  f("d_model", d_model);
  f("n_layers", n_layers);
  f("n_heads", n_heads);
  f("n_kv_heads", n_kv_heads);
  f("head_dim", head_dim);
  f("ffn_dim", ffn_dim);
  f("max_seq_len", max_seq_len);
  f("rope_theta", rope_theta);
  f("norm_eps", norm_eps);
  f("tie_embeddings", tie_embeddings);
  f("norm", norm);
  f("norm_rounding", norm_rounding);
  f("norm_position", norm_position);
  f("position", position);
  f("rope_dim", rope_dim);
  f("qk_norm", qk_norm);
  f("mlp", mlp);
  f("qkv_bias", qkv_bias);
  f("attention_out_bias", attention_out_bias);
  f("mlp_bias", mlp_bias);
  f("sliding_window", sliding_window);
}

/// The same model with the defaults that 0 stands for written out: n_kv_heads, head_dim, rope_dim.
constexpr Config resolved(Config config) {
  const std::int64_t kv_heads = config.kv_heads(), head_width = config.head_width(), rope_width = config.rope_width();
  config.n_kv_heads = kv_heads;
  config.head_dim = head_width;
  config.rope_dim = rope_width;
  return config;
}

namespace detail {

/// A field's value as text.
template <class V>
std::string field_text(const V& value) {
  if constexpr (std::is_enum_v<V>)
    return std::string(enum_name(value));
  else
    return concat(value);
}

}  // namespace detail

/// What is different: "d_model is 128 in A, 64 in B; qk_norm is true in A, false in B". Empty when both mean the same model.
inline std::string config_differences(const Config& a, std::string_view name_of_a, const Config& b, std::string_view name_of_b) {
  std::vector<std::string> texts;
  const Config left = resolved(a), right = resolved(b);
  for_each_field(left, [&](const char*, const auto& value) { texts.push_back(detail::field_text(value)); });
  std::string out;
  std::size_t at = 0;
  for_each_field(right, [&](const char* field, const auto& value) {
    const std::string mine = texts[at++], other = detail::field_text(value);
    if (mine == other) return;
    out += detail::concat(out.empty() ? "" : "; ", field, " is ", mine, " in ", name_of_a, ", ", other, " in ", name_of_b);
  });
  return out;
}

}  // namespace llm
