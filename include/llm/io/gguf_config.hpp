// Reads a Config from the metadata of a GGUF file.
// Source: the keys of the Python package gguf (constants.py), and how github.com/ggml-org/llama.cpp writes and reads them.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <llm/core/error.hpp>
#include <llm/core/rounding.hpp>
#include <llm/io/gguf_config_common.hpp>
#include <llm/io/gguf_config_keys.hpp>
#include <llm/io/gguf_config_rope.hpp>
#include <llm/io/gguf_key_names.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/published_config.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>

namespace llm {

namespace detail::gguf {

/// Llama, Mistral, Mixtral and their like. q and k are stored for the interleaved rotation.
inline Config read_llama(Keys& keys) {
  Config config = read_plain(keys, {.position = Position::rope_interleaved});
  const auto layout = keys.find_text("tensor_data_layout");
  if (layout && *layout != "reference" && *layout != "Meta AI original pth")
    keys.fail("tensor_data_layout", concat("is ", in_quotes(*layout), ", which is not known"));
  read_experts(keys, config, true);
  return config;
}

inline Config read_qwen2(Keys& keys) { return read_plain(keys, {}); }

inline Config read_qwen3(Keys& keys) {
  Config config = read_plain(keys, {.qk_norm = true});
  if (keys.architecture() == "qwen3moe") {
    read_experts(keys, config, true);
    if (!config.has_experts()) keys.fail(key::expert_count, "is missing or 0");
    keys.positive(key::expert_feed_forward_length);  // the experts' width: here it has no default
  }
  return config;
}

inline Config read_gpt2(Keys& keys) {
  return read_plain(keys, {.norm = Norm::layer_norm, .position = Position::learned, .mlp = Mlp::gelu_tanh});
}

inline Config read_starcoder2(Keys& keys) { return read_plain(keys, {.norm = Norm::layer_norm, .mlp = Mlp::gelu_tanh}); }

inline Config read_phi3(Keys& keys) {
  Config config = read_plain(keys, {});
  config.sliding_window = keys.find_count("attention.sliding_window").value_or(0);
  return config;
}

inline Config read_olmo2(Keys& keys) {
  return read_plain(
      keys, {.norm_rounding = Rounding::gain_then_round, .norm_position = NormPosition::branch, .qk_norm = true, .qk_norm_joint = true});
}

/// Gemma's gains are stored with the 1 already added, so norm_gain_offset is false.
inline Config gemma_defaults() { return {.norm_rounding = Rounding::gain_then_round, .mlp = Mlp::geglu_tanh, .scale_embeddings = true}; }

inline Config read_gemma(Keys& keys) { return read_plain(keys, gemma_defaults()); }

/// The scale of the scores, which no key holds: published sizes are known by their layers. The largest takes d_model / n_heads for
/// the width of a head, the others head_dim.
inline void read_gemma_scale(const Keys& keys, Config& config, std::initializer_list<std::int64_t> usual, std::int64_t largest) {
  if (config.n_layers == largest) {
    config.attention_scale = 1 / std::sqrt(static_cast<double>(config.d_model / config.n_heads));
    return;
  }
  for (const std::int64_t layers : usual)
    if (config.n_layers == layers) return;
  keys.fail(
      concat("no published ", keys.architecture(), " has ", config.n_layers, " layers, and the file does not say how scores are scaled"));
}

inline Config read_gemma2(Keys& keys) {
  Config defaults = gemma_defaults();
  defaults.norm_position = NormPosition::sandwich;
  Config config = read_plain(keys, defaults);
  config.sliding_window = keys.count("attention.sliding_window");
  config.full_attention_every = keys.find_count("attention.sliding_window_pattern").value_or(2);
  config.attention_softcap = keys.number("attn_logit_softcapping");
  config.logit_softcap = keys.number("final_logit_softcapping");
  read_gemma_scale(keys, config, {26, 42}, 46);
  return config;
}

inline Config read_gemma3(Keys& keys) {
  Config defaults = gemma_defaults();
  defaults.norm_position = NormPosition::sandwich;
  defaults.qk_norm = true;
  Config config = read_plain(keys, defaults);
  config.sliding_window = keys.find_count("attention.sliding_window").value_or(0);
  const auto every = keys.find_count("attention.sliding_window_pattern");
  const auto theta = keys.find_number("rope.freq_base_swa");
  if (config.sliding_window > 0) {
    config.full_attention_every = every.value_or(6);
    config.rope_theta_window = theta.value_or(10000.0);
  }
  config.logit_softcap = keys.find_number("final_logit_softcapping").value_or(0.0);
  read_gemma_scale(keys, config, {18, 26, 34, 48}, 62);
  return config;
}

/// Latent attention. Files since 2025 keep the widths of a head under *_mla, and under the plain keys those of the latent, which one
/// head of keys stands for; older files have the widths of a head under the plain keys.
inline void read_latent_attention(Keys& keys, Config& config) {
  config.n_heads = config.n_kv_heads = keys.count(key::head_count);
  Mla& mla = config.mla;
  mla.kv_rank = keys.positive("attention.kv_lora_rank");
  mla.q_rank = keys.find_count("attention.q_lora_rank").value_or(0);
  mla.rope_dim = keys.count(key::rope_dimension_count);
  const std::int64_t key_width = keys.count(key::key_length), value_width = keys.count(key::value_length);
  const auto own_key_width = keys.find_count("attention.key_length_mla"), own_value_width = keys.find_count("attention.value_length_mla");
  const std::int64_t kv_heads = keys.find_count(key::head_count_kv).value_or(config.n_heads);
  if (own_key_width.has_value() != own_value_width.has_value()) keys.fail("attention.key_length_mla", "and value_length_mla come in pairs");
  if (own_key_width && (key_width != mla.kv_rank + mla.rope_dim || value_width != mla.kv_rank || kv_heads != 1))
    keys.fail(key::key_length, "and value_length do not describe one head of latents");
  if (!own_key_width && kv_heads != config.n_heads) keys.fail(key::head_count_kv, "is neither 1 nor attention.head_count");
  mla.nope_dim = own_key_width.value_or(key_width) - mla.rope_dim;
  mla.v_dim = own_value_width.value_or(value_width);
  if (mla.nope_dim < 0) keys.fail(key::rope_dimension_count, "is larger than a head");
}

inline Config read_deepseek2(Keys& keys) {
  Config config = read_common(keys, {.position = Position::rope_interleaved});
  read_latent_attention(keys, config);
  read_rope(keys, config);
  config.rope_dim = 0;  // mla says it
  // The format keeps one number for two that are equal in every published model, times 0.1.
  if (const auto multiplier = keys.find_number("rope.scaling.yarn_log_multiplier")) {
    if (config.rope_scaling.kind != RopeScalingKind::yarn)
      keys.fail("rope.scaling.yarn_log_multiplier", "is given, but rope.scaling.type is not yarn");
    config.rope_scaling.mscale = config.rope_scaling.mscale_all_dim = as_written(static_cast<float>(*multiplier * 10));
  }
  read_experts(keys, config, false);
  if (!config.has_experts()) return config;
  keys.positive(key::expert_feed_forward_length);
  Experts& experts = config.experts;
  experts.first_dense = keys.find_count("leading_dense_block_count").value_or(0);
  experts.shared_ffn_dim = keys.find_count("expert_shared_count").value_or(0) * experts.ffn_dim;
  experts.score_bias = keys.has_tensor(concat("blk.", experts.first_dense, ".exp_probs_b.bias"));
  experts.groups = keys.find_count("expert_group_count").value_or(1);
  experts.active_groups = keys.find_count("expert_group_used_count").value_or(experts.groups);
  return config;
}

/// An architecture of the format, as general.architecture spells it.
struct Architecture {
  std::string_view name;
  Family family;
  Config (*read)(Keys&);
};
inline constexpr Architecture architectures[] = {
    {"llama", Family::llama, read_llama},    {"qwen2", Family::qwen2, read_qwen2},
    {"qwen3", Family::qwen3, read_qwen3},    {"qwen3moe", Family::qwen3_moe, read_qwen3},
    {"gpt2", Family::gpt2, read_gpt2},       {"gemma", Family::gemma, read_gemma},
    {"gemma2", Family::gemma2, read_gemma2}, {"gemma3", Family::gemma3, read_gemma3},
    {"phi3", Family::phi3, read_phi3},       {"starcoder2", Family::starcoder2, read_starcoder2},
    {"olmo2", Family::olmo2, read_olmo2},    {"deepseek2", Family::deepseek_v2, read_deepseek2}};

/// Some files are no whole model.
inline void require_whole_model(const Keys& keys) {
  if (const GgufValue* type = keys.file().find_metadata("general.type"); type != nullptr && type->text() != "model")
    keys.fail("general.type is not 'model': the file holds something else");
  const GgufValue* parts = keys.file().find_metadata("split.count");
  if (parts != nullptr && parts->integer().value_or(2) > 1)
    keys.fail("is one part of a model that is split into several files (split.count)");
}

}  // namespace detail::gguf

/// The model that a GGUF file describes. Throws FileError when the architecture or any of its keys is not known, when a key is missing,
/// of the wrong type or contradicts another or a tensor, and ConfigError when the Config that comes out breaks a rule.
///
/// The Config says what the file stores and the format means. So the architecture llama rotates pairs that are interleaved, all
/// others the two halves of a head (deepseek2: interleaved); Gemma's gains have their 1 added; a head is tied when there is no tensor
/// output.weight (files of GPT-2 repeat the embedding there); and what the format has no key for is absent, such as the sliding
/// windows of Mistral 7B v0.1 and StarCoder2.
inline PublishedConfig read_gguf_config(const GgufFile& file) {
  namespace gg = detail::gguf;
  gg::Keys keys(file);
  gg::require_whole_model(keys);
  for (const gg::Architecture& architecture : gg::architectures) {
    if (architecture.name != keys.architecture()) continue;
    PublishedConfig out{architecture.read(keys), architecture.family, file.path()};
    keys.finish();
    if (out.family == Family::llama && out.config.has_experts()) out.family = Family::mixtral;
    if (out.family == Family::deepseek_v2 && out.config.experts.score == RouterScore::sigmoid) out.family = Family::deepseek_v3;
    require_valid(out.config, file.path());
    return out;
  }
  keys.fail(detail::concat("architecture ", detail::in_quotes(keys.architecture()), " is not known"));
}

}  // namespace llm
