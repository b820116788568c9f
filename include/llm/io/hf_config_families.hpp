// Published config.json, family by family: which field becomes which of llm::Config.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/hf_config_layers.hpp>
#include <llm/io/hf_config_rope.hpp>
#include <llm/io/hf_config_traits.hpp>
#include <llm/io/published_config.hpp>
#include <llm/model/config_fields.hpp>

namespace llm::detail::hf {

/// So many layers at most: their lists are walked.
inline constexpr std::int64_t most_layers = 65536;

inline void read_layer_count(Fields& fields, std::string_view key, Config& c) {
  c.n_layers = fields.count(key);
  if (c.n_layers > most_layers) fields.refuse(key, concat("at most ", most_layers, " layers"));
}

/// The sizes under the names that all but GPT-2 use.
inline void read_sizes(Fields& fields, Family family, Config& c) {
  const Traits& traits = traits_of(family);
  c.vocab_size = fields.count("vocab_size");
  c.d_model = fields.count("hidden_size");
  read_layer_count(fields, "num_hidden_layers", c);
  c.n_heads = fields.count("num_attention_heads");
  c.ffn_dim = fields.count("intermediate_size");
  c.max_seq_len = fields.count("max_position_embeddings");
  c.tie_embeddings = fields.flag("tie_word_embeddings", traits.tied);
  constexpr std::string_view kv = "num_key_value_heads";
  const std::int64_t missing = traits.kv_heads != 0 ? traits.kv_heads : c.n_heads;
  c.n_kv_heads = fields.find(kv) == nullptr ? missing : fields.count_or_null(kv, c.n_heads);
  c.head_dim = traits.head_dim == 0 ? fields.count_or_null("head_dim", 0) : fields.count_or("head_dim", traits.head_dim);
  if (c.head_dim == 0 && c.d_model % c.n_heads != 0)
    fields.refuse("num_attention_heads", concat("a divisor of hidden_size, ", c.d_model, ", since there is no head_dim"));
}

/// The field that names the activation; `gated`: of gate(x), which up(x) is multiplied by.
inline Mlp read_activation(Fields& fields, std::string_view key, std::string_view missing, bool gated) {
  const std::string name = fields.text(key, missing);
  const bool tanh = name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast";  // one formula under three names
  if (gated && (name == "silu" || name == "swish")) return Mlp::swiglu;
  if (tanh) return gated ? Mlp::geglu_tanh : Mlp::gelu_tanh;
  if (!gated && name == "gelu") return Mlp::gelu_erf;
  fields.refuse(key, gated ? "'silu' or 'gelu_pytorch_tanh' for a gated MLP" : "'gelu', 'gelu_new', 'gelu_fast' or 'gelu_pytorch_tanh'");
}

inline void require_false(Fields& fields, std::string_view key) {
  if (fields.flag(key, false)) fields.refuse(key, "false: llm::Config has no such bias");
}

/// Llama, Mistral, Qwen2, Qwen3, Phi-3, OLMo 2, Gemma: RMSNorm, RoPE, a gated MLP.
inline void read_llama_like(Fields& fields, Family family, Config& c) {
  read_sizes(fields, family, c);
  c.norm_eps = fields.positive_or("rms_norm_eps", traits_of(family).eps);
  const bool has_bias_field = family == Family::llama || family == Family::qwen3 || family == Family::qwen3_moe ||
                              family == Family::gemma || family == Family::gemma2 || family == Family::gemma3 || family == Family::olmo2 ||
                              family == Family::olmoe;
  if (has_bias_field) c.qkv_bias = c.attention_out_bias = fields.flag("attention_bias", false);
  if (family == Family::llama) c.mlp_bias = fields.flag("mlp_bias", false);
  const bool gemma = family == Family::gemma || family == Family::gemma2 || family == Family::gemma3;
  if (!gemma) c.mlp = read_activation(fields, "hidden_act", "silu", true);
}

inline void read_qwen2(Fields& fields, Config& c) {
  c.qkv_bias = true;
  if (!fields.flag("qkv_bias", true)) fields.refuse("qkv_bias", "true, as this family always has");
}

inline void read_qwen3(Fields& fields, Config& c) {
  c.qk_norm = true;
  if (!fields.flag("use_qk_norm", true)) fields.refuse("use_qk_norm", "true, as this family always has");
}

inline void read_olmo2(Config& c) {
  c.norm_position = NormPosition::branch;
  c.norm_rounding = Rounding::gain_then_round;
  c.qk_norm = c.qk_norm_joint = true;
}

/// The activation is GELU's tanh form, also where old files of the first Gemma say "gelu".
inline void read_gemma_activation(Fields& fields, Family family, Config& c) {
  c.mlp = Mlp::geglu_tanh;
  for (const char* key : {"hidden_activation", "hidden_act"}) {
    const std::string name = fields.text(key, "gelu_pytorch_tanh");
    const bool old = family == Family::gemma && std::string_view(key) == "hidden_act" && name == "gelu";
    if (name != "gelu_pytorch_tanh" && name != "gelu_new" && !old) fields.refuse(key, "'gelu_pytorch_tanh'");
  }
}

inline void read_gemma(Fields& fields, Family family, Config& c) {
  read_gemma_activation(fields, family, c);
  c.norm_gain_offset = c.scale_embeddings = true;
  c.norm_rounding = Rounding::gain_then_round;
  if (family == Family::gemma) return;
  c.norm_position = NormPosition::sandwich;
  c.qk_norm = family == Family::gemma3;
  const auto cap = [&](const char* key, double missing) {
    return fields.find(key) == nullptr ? missing : fields.positive_or_null(key, 0.0);
  };
  c.attention_softcap = cap("attn_logit_softcapping", family == Family::gemma2 ? 50.0 : 0.0);
  c.logit_softcap = cap("final_logit_softcapping", family == Family::gemma2 ? 30.0 : 0.0);
  const double scalar = fields.positive_or("query_pre_attn_scalar", 256.0);
  if (scalar != static_cast<double>(c.head_width())) c.attention_scale = 1.0 / std::sqrt(scalar);
}

/// The loss that balances experts is part of training where the model gives its routers' logits.
inline void read_router_loss(Fields& fields, double missing, Config& c) {
  const double coefficient = fields.has("router_aux_loss_coef") ? fields.not_negative("router_aux_loss_coef") : missing;
  if (fields.flag("output_router_logits", false) && c.has_experts()) c.experts.router_aux_loss_coef = coefficient;
}

/// Mixtral: every layer has experts as wide as intermediate_size.
inline void read_mixtral(Fields& fields, Config& c) {
  c.experts.count = fields.count_or(fields.spelling({"num_local_experts", "num_experts"}), 8);
  c.experts.active = fields.count_or("num_experts_per_tok", 2);
  read_router_loss(fields, 0.001, c);
}

/// Qwen2-MoE and Qwen3-MoE: experts of a width of their own, some layers without.
inline void read_qwen_moe(Fields& fields, std::int64_t count, std::int64_t active, std::int64_t ffn_dim, Config& c) {
  c.experts.count = fields.count_or(fields.spelling({"num_experts", "num_local_experts"}), count, 0);
  c.experts.active = fields.count_or("num_experts_per_tok", active);
  c.experts.ffn_dim = fields.count_or("moe_intermediate_size", ffn_dim);
  c.experts.normalise = fields.flag("norm_topk_prob", false);
  const std::int64_t step = fields.count_or("decoder_sparse_step", 1);
  std::vector<bool> dense(static_cast<std::size_t>(c.n_layers));
  if (fields.has("mlp_only_layers")) {
    for (const Fields::Json& layer : fields.array("mlp_only_layers")) {
      if (!layer.is_number_unsigned() || layer.get<std::uint64_t>() >= dense.size())
        fields.fail(concat("mlp_only_layers has ", Fields::shown(layer), ", expected numbers of layers below ", c.n_layers));
      dense[layer.get<std::size_t>()] = true;
    }
  }
  const bool any = c.experts.count > 0;
  fit_expert_layers(
      fields, [&](std::int64_t i) { return any && !dense[static_cast<std::size_t>(i)] && (i + 1) % step == 0; }, c);
  read_router_loss(fields, 0.001, c);
}

/// Beside the routed experts shared ones, which a gate weighs.
inline void read_qwen2_moe(Fields& fields, Config& c) {
  c.experts.shared_ffn_dim = fields.count_or("shared_expert_intermediate_size", 5632);
  c.experts.shared_gate = true;
  if (fields.flag("use_sliding_window", false) && !fields.has("layer_types"))
    fields.refuse("use_sliding_window", "false, where layer_types does not say which layers have it");
  read_qwen_moe(fields, 60, 4, 1408, c);
}

/// Every layer has experts as wide as intermediate_size.
inline void read_olmoe(Fields& fields, Config& c) {
  c.qk_norm = c.qk_norm_joint = true;
  c.experts.count = fields.count_or(fields.spelling({"num_experts", "num_local_experts"}), 64);
  c.experts.active = fields.count_or("num_experts_per_tok", 8);
  c.experts.normalise = fields.flag("norm_topk_prob", false);
  read_router_loss(fields, 0.01, c);
}

inline void read_mla(Fields& fields, Config& c) {
  c.mla.kv_rank = fields.count("kv_lora_rank");
  c.mla.q_rank = fields.find("q_lora_rank") == nullptr ? 1536 : fields.count_or_null("q_lora_rank", 0);
  c.mla.nope_dim = fields.count("qk_nope_head_dim");
  c.mla.rope_dim = fields.count("qk_rope_head_dim");
  c.mla.v_dim = fields.count("v_head_dim");
  // Files of transformers 5 have the rotated width here.
  if (c.head_dim != 0 && c.head_dim != c.mla.rope_dim && c.head_dim != c.mla.nope_dim + c.mla.rope_dim)
    fields.refuse("head_dim", concat("qk_rope_head_dim, ", c.mla.rope_dim));
  c.head_dim = 0;
}

/// What the router does; read before the layers with experts are known.
inline void read_deepseek_router(Fields& fields, bool v3, Config& c) {
  Experts& e = c.experts;
  e.count = fields.count(fields.spelling({"n_routed_experts", "num_experts", "num_local_experts"}));
  e.active = v3 ? fields.count_or("num_experts_per_tok", 8) : fields.count("num_experts_per_tok");
  e.scale = fields.positive_or("routed_scaling_factor", v3 ? 2.5 : 1.0);
  e.normalise = fields.flag("norm_topk_prob", v3);
  e.score = v3 ? RouterScore::sigmoid : RouterScore::softmax;
  e.score_bias = v3;
  if (!v3 && e.normalise) fields.refuse("norm_topk_prob", "false: published implementations of this family disagree about true");
  const std::string score = fields.text("scoring_func", v3 ? "sigmoid" : "softmax");
  if (score != enum_name(e.score)) fields.refuse("scoring_func", concat("'", enum_name(e.score), "'"));
  const std::string method = fields.text("topk_method", v3 ? "noaux_tc" : "greedy");
  if (v3 ? method != "noaux_tc" : method != "greedy" && method != "group_limited_greedy")
    fields.refuse("topk_method", v3 ? "'noaux_tc'" : "'greedy' or 'group_limited_greedy'");
  const bool grouped = v3 || method == "group_limited_greedy";
  if (!grouped) return;
  e.groups = v3 ? fields.count_or("n_group", 8) : fields.count("n_group");
  e.active_groups = v3 ? fields.count_or("topk_group", 4) : fields.count("topk_group");
}

/// DeepSeek-V2 and V3: latent attention, dense layers at the start, then routed and shared experts.
inline void read_deepseek(Fields& fields, Family family, Config& c) {
  const bool v3 = family == Family::deepseek_v3;
  read_sizes(fields, family, c);
  c.norm_eps = fields.positive_or("rms_norm_eps", traits_of(family).eps);
  c.mlp = read_activation(fields, "hidden_act", "silu", true);
  read_mla(fields, c);
  require_false(fields, "attention_bias");
  require_false(fields, "mlp_bias");
  const bool pairs = fields.flag("rope_interleave", true);
  if (!v3 && !pairs) fields.refuse("rope_interleave", "true, as this family always has");
  c.position = pairs ? Position::rope_interleaved : Position::rope_half;
  read_deepseek_router(fields, v3, c);
  c.experts.ffn_dim = fields.count("moe_intermediate_size");
  c.experts.shared_ffn_dim = c.experts.ffn_dim * fields.count_or("n_shared_experts", v3 ? 1 : 2, 0);
  if (fields.count_or("moe_layer_freq", 1) != 1) fields.refuse("moe_layer_freq", "1: published implementations of this family disagree");
  const std::int64_t first = fields.count_or("first_k_dense_replace", v3 ? 3 : 0, 0);
  fit_expert_layers(
      fields, [first](std::int64_t i) { return i >= first; }, c);
}

/// Families whose classes know only heads of hidden_size / num_attention_heads, with keys and values of their own.
inline void require_plain_heads(Fields& fields, const Config& c) {
  if (c.d_model % c.n_heads != 0) fields.fail(concat(c.n_heads, " attention heads do not divide the width ", c.d_model));
  const std::int64_t width = c.d_model / c.n_heads;
  if (fields.count_or_null("num_key_value_heads", c.n_heads) != c.n_heads) fields.refuse("num_key_value_heads", concat(c.n_heads));
  if (fields.count_or_null("head_dim", width) != width) fields.refuse("head_dim", concat(width));
}

/// GPT-2: LayerNorm, learned positions, biases everywhere, and names of its own with the usual ones as aliases.
inline void read_gpt2(Fields& fields, Config& c) {
  c.vocab_size = fields.count("vocab_size");
  c.d_model = fields.count(fields.spelling({"n_embd", "hidden_size"}));
  read_layer_count(fields, fields.spelling({"n_layer", "num_hidden_layers"}), c);
  c.n_heads = fields.count(fields.spelling({"n_head", "num_attention_heads"}));
  c.max_seq_len = fields.count(fields.spelling({"n_positions", "max_position_embeddings"}));
  require_plain_heads(fields, c);
  c.ffn_dim = fields.count_or_null("n_inner", 4 * c.d_model);
  c.norm_eps = fields.positive_or("layer_norm_epsilon", traits_of(Family::gpt2).eps);
  c.tie_embeddings = fields.flag("tie_word_embeddings", true);
  c.norm = Norm::layer_norm;
  c.position = Position::learned;
  c.mlp = read_activation(fields, "activation_function", "gelu_new", false);
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  if (!fields.flag("scale_attn_weights", true)) c.attention_scale = 1.0;
}

/// GPT-NeoX and Pythia: LayerNorm, both branches from one residual, a part of each head rotated.
inline void read_gpt_neox(Fields& fields, Config& c) {
  read_sizes(fields, Family::gpt_neox, c);
  require_plain_heads(fields, c);
  c.norm_eps = fields.positive_or("layer_norm_eps", traits_of(Family::gpt_neox).eps);
  c.norm = Norm::layer_norm;
  c.mlp = read_activation(fields, "hidden_act", "gelu", false);
  c.parallel_residual = fields.flag("use_parallel_residual", true);
  c.qkv_bias = c.attention_out_bias = fields.flag("attention_bias", true);
  c.mlp_bias = true;
}

inline void read_starcoder2(Fields& fields, Config& c) {
  read_sizes(fields, Family::starcoder2, c);
  c.norm_eps = fields.positive_or("norm_epsilon", traits_of(Family::starcoder2).eps);
  c.norm = Norm::layer_norm;
  if (fields.text("norm_type", "layer_norm") != "layer_norm") fields.refuse("norm_type", "'layer_norm'");
  if (fields.text("mlp_type", "default") != "default") fields.refuse("mlp_type", "'default'");
  c.mlp = read_activation(fields, "hidden_act", "gelu_pytorch_tanh", false);
  fields.find("activation_function");  // published files have it from their ancestor; nothing reads it
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = fields.flag("use_bias", true);
}

/// The Config that the fields of one family give, but for what is left unread.
inline Config read_family(Fields& fields, Family family) {
  Config c;
  switch (family) {
    case Family::gpt2:
      read_gpt2(fields, c);
      break;
    case Family::gpt_neox:
      read_gpt_neox(fields, c);
      break;
    case Family::starcoder2:
      read_starcoder2(fields, c);
      break;
    case Family::deepseek_v2:
    case Family::deepseek_v3:
      read_deepseek(fields, family, c);
      break;
    default:
      read_llama_like(fields, family, c);
  }
  if (family == Family::qwen2 || family == Family::qwen2_moe) read_qwen2(fields, c);
  if (family == Family::qwen3 || family == Family::qwen3_moe) read_qwen3(fields, c);
  if (family == Family::olmo2) read_olmo2(c);
  if (family == Family::gemma || family == Family::gemma2 || family == Family::gemma3) read_gemma(fields, family, c);
  if (family == Family::mixtral) read_mixtral(fields, c);
  if (family == Family::qwen3_moe) read_qwen_moe(fields, 128, 8, 768, c);
  if (family == Family::qwen2_moe) read_qwen2_moe(fields, c);
  if (family == Family::olmoe) read_olmoe(fields, c);
  read_windows(fields, family, c);
  if (family != Family::gpt2) read_rope(fields, family, c);
  return c;
}

}  // namespace llm::detail::hf
