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
inline constexpr std::array<std::string_view, 4> enum_names<NormPosition>{"pre", "post", "branch", "sandwich"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Position>{"rope_half", "rope_interleaved", "learned", "none"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Mlp>{"swiglu", "gelu_tanh", "gelu_erf", "geglu_tanh"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<RopeScalingKind>{"none", "linear", "llama3", "yarn"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<RouterScore>{"softmax", "sigmoid"};

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

namespace detail {

// Each binding names every field: a field that is added to the struct and not here does not compile.

template <class R, class F>
constexpr void for_each_rope_scaling_field(R& rope_scaling, F&& f) {
  auto& [kind, factor, original_max_seq_len, low_freq_factor, high_freq_factor, beta_fast, beta_slow, attention_factor, mscale,
         mscale_all_dim, truncate] = rope_scaling;
  f("rope_scaling.kind", kind);
  f("rope_scaling.factor", factor);
  f("rope_scaling.original_max_seq_len", original_max_seq_len);
  f("rope_scaling.low_freq_factor", low_freq_factor);
  f("rope_scaling.high_freq_factor", high_freq_factor);
  f("rope_scaling.beta_fast", beta_fast);
  f("rope_scaling.beta_slow", beta_slow);
  f("rope_scaling.attention_factor", attention_factor);
  f("rope_scaling.mscale", mscale);
  f("rope_scaling.mscale_all_dim", mscale_all_dim);
  f("rope_scaling.truncate", truncate);
}

template <class E, class F>
constexpr void for_each_experts_field(E& experts, F&& f) {
  auto& [count, active, ffn_dim, shared_ffn_dim, shared_gate, first_dense, every, score, normalise, score_bias, scale, groups,
         active_groups, router_aux_loss_coef, router_z_loss_coef] = experts;
  f("experts.count", count);
  f("experts.active", active);
  f("experts.ffn_dim", ffn_dim);
  f("experts.shared_ffn_dim", shared_ffn_dim);
  f("experts.shared_gate", shared_gate);
  f("experts.first_dense", first_dense);
  f("experts.every", every);
  f("experts.score", score);
  f("experts.normalise", normalise);
  f("experts.score_bias", score_bias);
  f("experts.scale", scale);
  f("experts.groups", groups);
  f("experts.active_groups", active_groups);
  f("experts.router_aux_loss_coef", router_aux_loss_coef);
  f("experts.router_z_loss_coef", router_z_loss_coef);
}

template <class M, class F>
constexpr void for_each_mla_field(M& mla, F&& f) {
  auto& [kv_rank, q_rank, nope_dim, rope_dim, v_dim] = mla;
  f("mla.kv_rank", kv_rank);
  f("mla.q_rank", q_rank);
  f("mla.nope_dim", nope_dim);
  f("mla.rope_dim", rope_dim);
  f("mla.v_dim", v_dim);
}

}  // namespace detail

/// Calls f("vocab_size", config.vocab_size) and so on for every field, in the order of their declaration; a field of a part is named
/// "experts.count". C is Config or const Config; a field is std::int64_t, double, bool or one of the enums.
template <class C, class F>
constexpr void for_each_field(C& config, F&& f) {
  auto& [vocab_size, d_model, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, max_seq_len, rope_theta, norm_eps, tie_embeddings, norm,
         norm_rounding, norm_position, position, rope_dim, rope_scaling, qk_norm, qk_norm_joint, mlp, qkv_bias, attention_out_bias,
         mlp_bias, sliding_window, full_attention_every, rope_theta_window, parallel_residual, norm_gain_offset, scale_embeddings,
         attention_scale, attention_softcap, logit_softcap, experts, mla] = config;
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
  detail::for_each_rope_scaling_field(rope_scaling, f);
  f("qk_norm", qk_norm);
  f("qk_norm_joint", qk_norm_joint);
  f("mlp", mlp);
  f("qkv_bias", qkv_bias);
  f("attention_out_bias", attention_out_bias);
  f("mlp_bias", mlp_bias);
  f("sliding_window", sliding_window);
  f("full_attention_every", full_attention_every);
  f("rope_theta_window", rope_theta_window);
  f("parallel_residual", parallel_residual);
  f("norm_gain_offset", norm_gain_offset);
  f("scale_embeddings", scale_embeddings);
  f("attention_scale", attention_scale);
  f("attention_softcap", attention_softcap);
  f("logit_softcap", logit_softcap);
  detail::for_each_experts_field(experts, f);
  detail::for_each_mla_field(mla, f);
}

/// The same model with the defaults that 0 stands for written out: n_kv_heads, head_dim, rope_dim, experts.ffn_dim.
constexpr Config resolved(Config config) {
  const std::int64_t kv_heads = config.kv_heads(), head_width = config.head_width(), rope_width = config.rope_width();
  config.n_kv_heads = kv_heads;
  config.head_dim = head_width;
  config.rope_dim = rope_width;
  if (config.has_experts()) config.experts.ffn_dim = config.expert_ffn_dim();
  return config;
}

namespace detail {

/// What decides a model's parameters and results: the same without what training alone uses, defaults written out.
constexpr Config architecture(Config config) {
  config.experts.router_aux_loss_coef = config.experts.router_z_loss_coef = 0.0;
  return resolved(config);
}

/// A field's value as text.
template <class V>
std::string field_text(const V& value) {
  if constexpr (std::is_enum_v<V>)
    return std::string(enum_name(value));
  else
    return concat(value);
}

}  // namespace detail

/// Calls f(field, value in a, the text of the value in b) for every field in which two configs differ, in the order of their declaration.
template <class F>
void for_each_difference(const Config& a, const Config& b, F&& f) {
  std::vector<std::string> texts;
  for_each_field(b, [&](const char*, const auto& value) { texts.push_back(detail::field_text(value)); });
  std::size_t at = 0;
  for_each_field(a, [&](const char* field, const auto& value) {
    const std::string& other = texts[at++];
    if (detail::field_text(value) != other) f(field, value, other);
  });
}

/// What is different: "d_model is 128 in A, 64 in B; qk_norm is true in A, false in B". Empty when both mean the same model.
inline std::string config_differences(const Config& a, std::string_view name_of_a, const Config& b, std::string_view name_of_b) {
  std::string out;
  for_each_difference(detail::architecture(a), detail::architecture(b), [&](const char* field, const auto& mine, const std::string& other) {
    out +=
        detail::concat(out.empty() ? "" : "; ", field, " is ", detail::field_text(mine), " in ", name_of_a, ", ", other, " in ", name_of_b);
  });
  return out;
}

}  // namespace llm
