// Fields of a config.json that change what a model computes: one that the family's reader did not ask for must have its harmless value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>

namespace llm::detail::hf {

/// The value with which a field means nothing; null always does.
enum class Harmless : std::uint8_t { null, no, yes, zero, one, empty };

struct Meaning {
  std::string_view key;
  Harmless harmless;
};

/// From the configuration classes of transformers 5, and of model families whose config.json looks like Llama's.
inline constexpr Meaning meanings[] = {
    // attention
    {"add_cross_attention", Harmless::no},
    {"is_encoder_decoder", Harmless::no},
    {"is_causal", Harmless::yes},
    {"use_bidirectional_attention", Harmless::no},
    {"attention_bias", Harmless::no},
    {"qkv_bias", Harmless::no},
    {"use_bias", Harmless::no},
    {"scale_attn_weights", Harmless::yes},
    {"scale_attn_by_inverse_layer_idx", Harmless::no},
    {"query_pre_attn_scalar", Harmless::null},
    {"attention_multiplier", Harmless::null},
    {"attn_logit_softcapping", Harmless::null},
    {"sliding_window", Harmless::null},
    {"use_sliding_window", Harmless::no},
    {"attention_chunk_size", Harmless::null},
    {"clip_qkv", Harmless::null},
    {"use_qk_norm", Harmless::no},
    {"qk_norm", Harmless::no},
    {"qk_layernorm", Harmless::no},
    {"kv_lora_rank", Harmless::null},
    {"q_lora_rank", Harmless::null},
    {"num_kv_shared_layers", Harmless::zero},
    {"cross_attention_layers", Harmless::empty},
    {"pruned_heads", Harmless::empty},
    // positions
    {"alibi", Harmless::no},
    {"use_mrope", Harmless::no},
    {"rope_scaling", Harmless::empty},
    {"rope_parameters", Harmless::empty},
    {"rope_local_base_freq", Harmless::null},
    {"rope_interleave", Harmless::no},
    {"rope_interleaved", Harmless::no},
    {"rotary_pct", Harmless::one},
    {"partial_rotary_factor", Harmless::one},
    {"no_rope_layers", Harmless::empty},
    {"no_rope_layer_interval", Harmless::null},
    // MLP and experts
    {"mlp_bias", Harmless::no},
    {"hidden_activation", Harmless::null},
    {"activation_function", Harmless::null},
    {"num_experts", Harmless::zero},
    {"num_local_experts", Harmless::zero},
    {"n_routed_experts", Harmless::zero},
    {"n_shared_experts", Harmless::zero},
    {"shared_expert_intermediate_size", Harmless::zero},
    // the stream between layers
    {"parallel_attn", Harmless::no},
    {"use_parallel_residual", Harmless::no},
    {"embedding_multiplier", Harmless::one},
    {"residual_multiplier", Harmless::one},
    {"logits_scaling", Harmless::one},
    {"logit_scale", Harmless::one},
    {"scale_emb", Harmless::one},
    {"scale_depth", Harmless::null},
    {"final_logit_softcapping", Harmless::null},
    // other modalities
    {"text_config", Harmless::null},
    {"vision_config", Harmless::null},
    {"audio_config", Harmless::null},
};

inline bool is_harmless(const Fields::Json& value, Harmless harmless) {
  if (value.is_null()) return true;
  switch (harmless) {
    case Harmless::null:
      return false;
    case Harmless::no:
      return value == false;
    case Harmless::yes:
      return value == true;
    case Harmless::zero:
      return value == 0;
    case Harmless::one:
      return value == 1;
    case Harmless::empty:
      return value.is_structured() && value.empty();
  }
  return false;
}

constexpr std::string_view harmless_text(Harmless harmless) {
  constexpr std::string_view texts[] = {"null", "false", "true", "0", "1", "nothing"};
  return texts[static_cast<std::size_t>(harmless)];
}

/// Throws FileError when a field that nobody read says something that the Config does not.
inline void require_rest_harmless(Fields& fields) {
  for (const Meaning& meaning : meanings) {
    if (fields.was_read(meaning.key)) continue;
    const Fields::Json* value = fields.find(meaning.key);
    if (value != nullptr && !is_harmless(*value, meaning.harmless))
      fields.refuse(meaning.key, concat(harmless_text(meaning.harmless), ": anything else is beyond this family or llm::Config"));
  }
}

}  // namespace llm::detail::hf
