// Writes the config.json that Hugging Face transformers reads, in the spelling of version 4, which version 5 reads too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/hf_config.hpp>
#include <llm/model/config_fields.hpp>

namespace llm {

namespace detail::hf {

using OrderedJson = nlohmann::ordered_json;

inline OrderedJson rope_scaling_json(const RopeScaling& s) {
  OrderedJson json{{"rope_type", enum_name(s.kind)}, {"factor", s.factor}};
  if (s.kind == RopeScalingKind::linear) return json;
  json["original_max_position_embeddings"] = s.original_max_seq_len;
  if (s.kind == RopeScalingKind::llama3) {
    json["low_freq_factor"] = s.low_freq_factor;
    json["high_freq_factor"] = s.high_freq_factor;
  } else {
    json["beta_fast"] = s.beta_fast;
    json["beta_slow"] = s.beta_slow;
    if (s.attention_factor != 0.0) json["attention_factor"] = s.attention_factor;
    json["truncate"] = s.truncate;
  }
  return json;
}

inline void write_rope(const Config& c, Family family, OrderedJson& json) {
  json["rope_theta"] = c.rope_theta;
  json["rope_scaling"] = c.rope_scaling.kind == RopeScalingKind::none ? OrderedJson() : rope_scaling_json(c.rope_scaling);
  if (family == Family::phi3) json["partial_rotary_factor"] = static_cast<double>(c.rope_width()) / static_cast<double>(c.head_width());
}

inline void write_windows(const Config& c, Family family, OrderedJson& json) {
  const Windows windows = traits_of(family).windows;
  const bool asked = windows == Windows::last || windows == Windows::all_asked;
  if (windows == Windows::none) return;
  json["sliding_window"] = c.sliding_window > 0 ? OrderedJson(c.sliding_window) : OrderedJson();
  if (asked) json["use_sliding_window"] = c.sliding_window > 0;
  if (asked && c.sliding_window > 0) json["max_window_layers"] = 0;
}

inline void write_experts(const Config& c, Family family, OrderedJson& json) {
  json["num_experts_per_tok"] = c.experts.active;
  json[family == Family::mixtral ? "num_local_experts" : "num_experts"] = c.experts.count;
  if (c.experts.router_aux_loss_coef > 0.0) {
    json["output_router_logits"] = true;
    json["router_aux_loss_coef"] = c.experts.router_aux_loss_coef;
  }
  if (family == Family::mixtral) return;
  json["moe_intermediate_size"] = c.expert_ffn_dim();
  json["norm_topk_prob"] = c.experts.normalise;
  json["decoder_sparse_step"] = 1;
  json["mlp_only_layers"] = OrderedJson::array();
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    if (!c.expert_layer(i)) json["mlp_only_layers"].push_back(i);
}

inline OrderedJson gpt2_json(const Config& c) {
  return {{"vocab_size", c.vocab_size},
          {"n_embd", c.d_model},
          {"n_layer", c.n_layers},
          {"n_head", c.n_heads},
          {"n_inner", c.ffn_dim},
          {"n_positions", c.max_seq_len},
          {"layer_norm_epsilon", c.norm_eps},
          {"activation_function", c.mlp == Mlp::gelu_erf ? "gelu" : "gelu_new"}};
}

inline OrderedJson llama_like_json(const Config& c, Family family) {
  const bool starcoder = family == Family::starcoder2;
  OrderedJson json{{"vocab_size", c.vocab_size},
                   {"hidden_size", c.d_model},
                   {"num_hidden_layers", c.n_layers},
                   {"num_attention_heads", c.n_heads},
                   {"num_key_value_heads", c.kv_heads()},
                   {"head_dim", c.head_width()},
                   {"intermediate_size", family == Family::mixtral ? c.expert_ffn_dim() : c.ffn_dim},
                   {"max_position_embeddings", c.max_seq_len},
                   {"hidden_act", c.gated()                ? "silu"
                                  : c.mlp == Mlp::gelu_erf ? "gelu"
                                                           : "gelu_pytorch_tanh"},
                   {starcoder ? "norm_epsilon" : "rms_norm_eps", c.norm_eps}};
  if (starcoder) json["use_bias"] = c.qkv_bias;
  if (family == Family::llama || family == Family::qwen3 || family == Family::qwen3_moe) json["attention_bias"] = c.qkv_bias;
  if (family == Family::llama) json["mlp_bias"] = c.mlp_bias;
  write_windows(c, family, json);
  write_rope(c, family, json);
  if (c.has_experts()) write_experts(c, family, json);
  return json;
}

inline OrderedJson config_json(const Config& c, Family family) {
  OrderedJson json{{"architectures", {traits_of(family).architecture}}, {"model_type", to_string(family)}};
  json.update(family == Family::gpt2 ? gpt2_json(c) : llama_like_json(c, family));
  json["tie_word_embeddings"] = c.tie_embeddings;
  return json;
}

/// The families whose files can be written.
inline constexpr std::array writable_families{Family::llama,   Family::mistral,   Family::qwen2, Family::qwen3,     Family::phi3,
                                              Family::mixtral, Family::qwen3_moe, Family::gpt2,  Family::starcoder2};

/// Which tokens begin and end a text; null where none does.
inline void set_token_ids(OrderedJson& json, const std::optional<std::int64_t>& bos, const std::vector<std::int64_t>& eos) {
  json["bos_token_id"] = bos ? OrderedJson(*bos) : OrderedJson();
  json["eos_token_id"] = eos.empty() ? OrderedJson() : eos.size() == 1 ? OrderedJson(eos.front()) : OrderedJson(eos);
}

}  // namespace detail::hf

/// What a config.json says beside the architecture.
struct HfConfigOptions {
  DType dtype = DType::f32;  // of the weights beside it
  std::optional<std::int64_t> bos_token_id = {};
  std::vector<std::int64_t> eos_token_ids = {};
};

/// The family of Hugging Face's classes that means exactly this config, but for the convention of RoPE, which is theirs: half-split.
/// Found by reading back what would be written. Throws ConfigError, with what differs for the nearest one, when there is none.
inline Family hf_family_of(const Config& config) {
  Config expected = config;
  if (config.rotary()) expected.position = Position::rope_half;
  std::string nearest;
  for (const Family family : detail::hf::writable_families) {
    try {
      const PublishedConfig back = parse_hf_config(detail::hf::config_json(expected, family).dump(), "config.json");
      const std::string differences = config_differences(expected, "the model", back.config, to_string(family));
      if (differences.empty()) return family;
      if (nearest.empty() || differences.size() < nearest.size()) nearest = differences;
    } catch (const Error& error) {
      if (nearest.empty()) nearest = error.what();
    }
  }
  throw ConfigError(detail::concat("llm::hf_family_of: no family of transformers has such a model: ", nearest));
}

/// The text of a config.json for a model of this family, as hf_family_of finds it.
inline std::string hf_config_text(const Config& config, Family family, const HfConfigOptions& options = {}) {
  auto json = detail::hf::config_json(config, family);
  json["torch_dtype"] = options.dtype == DType::bf16  ? "bfloat16"
                        : options.dtype == DType::f16 ? "float16"
                        : options.dtype == DType::f64 ? "float64"
                                                      : "float32";
  detail::hf::set_token_ids(json, options.bos_token_id, options.eos_token_ids);
  json["pad_token_id"] = nullptr;
  return json.dump(2) + "\n";
}

}  // namespace llm
