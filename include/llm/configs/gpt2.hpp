// GPT-2: LayerNorm, learned positions, multi-head attention and GELU, all with biases. Source: the checkpoints openai-community/gpt2*.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A GPT-2 of the given size; the rest is common to the family.
constexpr Config gpt2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads) {
  return {.vocab_size = 50257,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_heads,
          .ffn_dim = 4 * d_model,
          .max_seq_len = 1024,
          .norm_eps = 1e-5,
          .tie_embeddings = true,
          .norm = Norm::layer_norm,
          .position = Position::learned,
          .mlp = Mlp::gelu_tanh,
          .qkv_bias = true,
          .attention_out_bias = true,
          .mlp_bias = true};
}

inline constexpr Config gpt2_124m = gpt2(768, 12, 12);
static_assert(parameter_count(gpt2_124m).total == 124'439'808);

inline constexpr Config gpt2_medium = gpt2(1024, 24, 16);
static_assert(parameter_count(gpt2_medium).total == 354'823'168);

inline constexpr Config gpt2_large = gpt2(1280, 36, 20);
static_assert(parameter_count(gpt2_large).total == 774'030'080);

inline constexpr Config gpt2_xl = gpt2(1600, 48, 25);
static_assert(parameter_count(gpt2_xl).total == 1'557'611'200);

}  // namespace llm::configs
