// Qwen3, dense and with experts: QK-norm, and heads wider or narrower than d_model / n_heads. Source: the checkpoints Qwen/Qwen3-*.
// 32,768 positions are the context that the family documents; some of its files allow more.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A dense Qwen3 of the given size.
constexpr Config qwen3(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim, bool tied) {
  return {.vocab_size = 151936,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = 8,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = 32768,
          .rope_theta = 1000000.0,
          .norm_eps = 1e-6,
          .tie_embeddings = tied,
          .qk_norm = true};
}

/// A Qwen3 with 128 experts in every layer, eight of them for a token. ffn_dim is published, though no layer has a dense MLP.
constexpr Config qwen3_moe(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim,
                           std::int64_t expert_ffn_dim) {
  Config config = qwen3(d_model, n_layers, n_heads, ffn_dim, false);
  config.n_kv_heads = 4;
  config.experts = {.count = 128, .active = 8, .ffn_dim = expert_ffn_dim};
  return config;
}

inline constexpr Config qwen3_0_6b = qwen3(1024, 28, 16, 3072, true);
static_assert(parameter_count(qwen3_0_6b).total == 596'049'920);

inline constexpr Config qwen3_1_7b = qwen3(2048, 28, 16, 6144, true);
static_assert(parameter_count(qwen3_1_7b).total == 1'720'574'976);

inline constexpr Config qwen3_4b = qwen3(2560, 36, 32, 9728, true);
static_assert(parameter_count(qwen3_4b).total == 4'022'468'096);

inline constexpr Config qwen3_8b = qwen3(4096, 36, 32, 12288, false);
static_assert(parameter_count(qwen3_8b).total == 8'190'735'360);

inline constexpr Config qwen3_14b = qwen3(5120, 40, 40, 17408, false);
static_assert(parameter_count(qwen3_14b).total == 14'768'307'200);

inline constexpr Config qwen3_32b = qwen3(5120, 64, 64, 25600, false);
static_assert(parameter_count(qwen3_32b).total == 32'762'123'264);

inline constexpr Config qwen3_30b_a3b = qwen3_moe(2048, 48, 32, 6144, 768);
static_assert(parameter_count(qwen3_30b_a3b).total == 30'532'122'624);
static_assert(parameter_count(qwen3_30b_a3b).active == 3'353'032'704);

inline constexpr Config qwen3_235b_a22b = qwen3_moe(4096, 94, 64, 12288, 1536);
static_assert(parameter_count(qwen3_235b_a22b).total == 235'093'634'560);
static_assert(parameter_count(qwen3_235b_a22b).active == 22'190'763'520);

}  // namespace llm::configs
