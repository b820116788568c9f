// Gemma, Gemma 2 and Gemma 3: gated GELU, gains stored as 1 + w, scaled embeddings. Source: the checkpoints google/gemma-2b,
// google/gemma-7b, google/gemma-2-* and google/gemma-3-1b-*.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A Gemma of the given size; its heads are 256 wide.
constexpr Config gemma(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t ffn_dim) {
  return {.vocab_size = 256000,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_kv_heads,
          .head_dim = 256,
          .ffn_dim = ffn_dim,
          .max_seq_len = 8192,
          .rope_theta = 10000.0,
          .norm_eps = 1e-6,
          .tie_embeddings = true,
          .norm_rounding = Rounding::gain_then_round,
          .mlp = Mlp::geglu_tanh,
          .norm_gain_offset = true,
          .scale_embeddings = true};
}

/// A Gemma 2: norms before and after each branch, every second layer sees the last 4096 positions alone, scores and logits are capped.
constexpr Config gemma2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t ffn_dim) {
  Config config = gemma(d_model, n_layers, n_heads, n_kv_heads, ffn_dim);
  config.norm_position = NormPosition::sandwich;
  config.sliding_window = 4096;
  config.full_attention_every = 2;
  config.attention_softcap = 50.0;
  config.logit_softcap = 30.0;
  return config;
}

inline constexpr Config gemma_2b = gemma(2048, 18, 8, 1, 16384);
static_assert(parameter_count(gemma_2b).total == 2'506'172'416);

inline constexpr Config gemma_7b = gemma(3072, 28, 16, 16, 24576);
static_assert(parameter_count(gemma_7b).total == 8'537'680'896);

inline constexpr Config gemma2_2b = gemma2(2304, 26, 8, 4, 9216);
static_assert(parameter_count(gemma2_2b).total == 2'614'341'888);

inline constexpr Config gemma2_9b = gemma2(3584, 42, 16, 8, 14336);
static_assert(parameter_count(gemma2_9b).total == 9'241'705'984);

/// The largest has heads of 128, and scores scaled as if they were d_model / n_heads = 144 wide.
inline constexpr Config gemma2_27b = [] {
  Config config = gemma2(4608, 46, 32, 16, 36864);
  config.head_dim = 128;
  config.attention_scale = 1.0 / 12.0;
  return config;
}();
static_assert(parameter_count(gemma2_27b).total == 27'227'128'320);

/// Gemma 3 has QK-norm instead of caps, a window of 512 in five layers of six, and a longer wavelength in the sixth.
inline constexpr Config gemma3_1b = [] {
  Config config = gemma(1152, 26, 4, 1, 6912);
  config.vocab_size = 262144;
  config.max_seq_len = 32768;
  config.rope_theta = 1000000.0;
  config.rope_theta_window = 10000.0;
  config.norm_position = NormPosition::sandwich;
  config.qk_norm = true;
  config.sliding_window = 512;
  config.full_attention_every = 6;
  return config;
}();
static_assert(parameter_count(gemma3_1b).total == 999'885'952);

}  // namespace llm::configs
