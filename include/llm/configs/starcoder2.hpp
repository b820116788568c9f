// StarCoder2: LayerNorm, biases and GELU as in GPT-2, rotary positions and a sliding window. Source: the checkpoints
// bigcode/starcoder2-3b and bigcode/starcoder2-7b.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A StarCoder2 of the given size; its heads are 128 wide.
constexpr Config starcoder2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_kv_heads, double rope_theta) {
  return {.vocab_size = 49152,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = d_model / 128,
          .n_kv_heads = n_kv_heads,
          .head_dim = 128,
          .ffn_dim = 4 * d_model,
          .max_seq_len = 16384,
          .rope_theta = rope_theta,
          .norm_eps = 1e-5,
          .tie_embeddings = true,
          .norm = Norm::layer_norm,
          .mlp = Mlp::gelu_tanh,
          .qkv_bias = true,
          .attention_out_bias = true,
          .mlp_bias = true,
          .sliding_window = 4096};
}

/// The file gives its rope_theta in f32 precision.
inline constexpr Config starcoder2_3b = starcoder2(3072, 30, 2, 999999.4420358813);
static_assert(parameter_count(starcoder2_3b).total == 3'030'371'328);

inline constexpr Config starcoder2_7b = starcoder2(4608, 32, 4, 1000000.0);
static_assert(parameter_count(starcoder2_7b).total == 7'173'923'840);

}  // namespace llm::configs
