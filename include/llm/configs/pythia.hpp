// Pythia, models of GPT-NeoX: parallel branches, LayerNorm, biases, a quarter of each head rotated. Source: the checkpoints
// EleutherAI/pythia-*; their counts stand in arXiv:2304.01373, table 1 and appendix.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A Pythia of the given size; the large ones pad the vocabulary more.
constexpr Config pythia(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t vocab_size = 50304) {
  return {.vocab_size = vocab_size,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_heads,
          .ffn_dim = 4 * d_model,
          .max_seq_len = 2048,
          .rope_theta = 10000.0,
          .norm_eps = 1e-5,
          .norm = Norm::layer_norm,
          .rope_dim = d_model / n_heads / 4,
          .mlp = Mlp::gelu_erf,
          .qkv_bias = true,
          .attention_out_bias = true,
          .mlp_bias = true,
          .parallel_residual = true};
}

inline constexpr Config pythia_70m = pythia(512, 6, 8);
static_assert(parameter_count(pythia_70m).total == 70'426'624);

inline constexpr Config pythia_160m = pythia(768, 12, 12);
static_assert(parameter_count(pythia_160m).total == 162'322'944);

inline constexpr Config pythia_410m = pythia(1024, 24, 16);
static_assert(parameter_count(pythia_410m).total == 405'334'016);

inline constexpr Config pythia_1b = pythia(2048, 16, 8);
static_assert(parameter_count(pythia_1b).total == 1'011'781'632);

inline constexpr Config pythia_1_4b = pythia(2048, 24, 16);
static_assert(parameter_count(pythia_1_4b).total == 1'414'647'808);

inline constexpr Config pythia_2_8b = pythia(2560, 32, 32);
static_assert(parameter_count(pythia_2_8b).total == 2'775'208'960);

inline constexpr Config pythia_6_9b = pythia(4096, 32, 32, 50432);
static_assert(parameter_count(pythia_6_9b).total == 6'857'302'016);

inline constexpr Config pythia_12b = pythia(5120, 36, 40, 50688);
static_assert(parameter_count(pythia_12b).total == 11'846'072'320);

}  // namespace llm::configs
