// Qwen2.5: Llama's structure with biases on q, k and v. Source: the checkpoints Qwen/Qwen2.5-*.
// 32,768 positions are the context that the family documents; some of its files allow more. norm_eps is that of the base models; some of
// the instruct models differ in it.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A Qwen2.5 of the given size; the smallest have 151,936 tokens and a tied head.
constexpr Config qwen2_5(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t ffn_dim,
                         bool tied, double norm_eps) {
  return {.vocab_size = tied ? 151936 : 152064,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_kv_heads,
          .head_dim = d_model / n_heads,
          .ffn_dim = ffn_dim,
          .max_seq_len = 32768,
          .rope_theta = 1000000.0,
          .norm_eps = norm_eps,
          .tie_embeddings = tied,
          .qkv_bias = true};
}

inline constexpr Config qwen2_5_0_5b = qwen2_5(896, 24, 14, 2, 4864, true, 1e-6);
static_assert(parameter_count(qwen2_5_0_5b).total == 494'032'768);

inline constexpr Config qwen2_5_1_5b = qwen2_5(1536, 28, 12, 2, 8960, true, 1e-6);
static_assert(parameter_count(qwen2_5_1_5b).total == 1'543'714'304);

inline constexpr Config qwen2_5_3b = qwen2_5(2048, 36, 16, 2, 11008, true, 1e-6);
static_assert(parameter_count(qwen2_5_3b).total == 3'085'938'688);

inline constexpr Config qwen2_5_7b = qwen2_5(3584, 28, 28, 4, 18944, false, 1e-6);
static_assert(parameter_count(qwen2_5_7b).total == 7'615'616'512);

inline constexpr Config qwen2_5_14b = qwen2_5(5120, 48, 40, 8, 13824, false, 1e-5);
static_assert(parameter_count(qwen2_5_14b).total == 14'770'033'664);

inline constexpr Config qwen2_5_32b = qwen2_5(5120, 64, 40, 8, 27648, false, 1e-5);
static_assert(parameter_count(qwen2_5_32b).total == 32'763'876'352);

inline constexpr Config qwen2_5_72b = qwen2_5(8192, 80, 64, 8, 29568, false, 1e-5);
static_assert(parameter_count(qwen2_5_72b).total == 72'706'203'648);

}  // namespace llm::configs
