// Qwen3, the dense models: QK-norm, and heads wider or narrower than d_model / n_heads. Source: the checkpoints Qwen/Qwen3-*.
// 32,768 positions are the context that the family documents; some of its files allow more.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config qwen3_0_6b{.vocab_size = 151936,
                                   .d_model = 1024,
                                   .n_layers = 28,
                                   .n_heads = 16,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 3072,
                                   .max_seq_len = 32768,
                                   .rope_theta = 1000000.0,
                                   .norm_eps = 1e-6,
                                   .tie_embeddings = true,
                                   .qk_norm = true};
static_assert(parameter_count(qwen3_0_6b).total == 596'049'920);

inline constexpr Config qwen3_1_7b{.vocab_size = 151936,
                                   .d_model = 2048,
                                   .n_layers = 28,
                                   .n_heads = 16,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 6144,
                                   .max_seq_len = 32768,
                                   .rope_theta = 1000000.0,
                                   .norm_eps = 1e-6,
                                   .tie_embeddings = true,
                                   .qk_norm = true};
static_assert(parameter_count(qwen3_1_7b).total == 1'720'574'976);

inline constexpr Config qwen3_4b{.vocab_size = 151936,
                                 .d_model = 2560,
                                 .n_layers = 36,
                                 .n_heads = 32,
                                 .n_kv_heads = 8,
                                 .head_dim = 128,
                                 .ffn_dim = 9728,
                                 .max_seq_len = 32768,
                                 .rope_theta = 1000000.0,
                                 .norm_eps = 1e-6,
                                 .tie_embeddings = true,
                                 .qk_norm = true};
static_assert(parameter_count(qwen3_4b).total == 4'022'468'096);

inline constexpr Config qwen3_8b{.vocab_size = 151936,
                                 .d_model = 4096,
                                 .n_layers = 36,
                                 .n_heads = 32,
                                 .n_kv_heads = 8,
                                 .head_dim = 128,
                                 .ffn_dim = 12288,
                                 .max_seq_len = 32768,
                                 .rope_theta = 1000000.0,
                                 .norm_eps = 1e-6,
                                 .qk_norm = true};
static_assert(parameter_count(qwen3_8b).total == 8'190'735'360);

inline constexpr Config qwen3_32b{.vocab_size = 151936,
                                  .d_model = 5120,
                                  .n_layers = 64,
                                  .n_heads = 64,
                                  .n_kv_heads = 8,
                                  .head_dim = 128,
                                  .ffn_dim = 25600,
                                  .max_seq_len = 32768,
                                  .rope_theta = 1000000.0,
                                  .norm_eps = 1e-6,
                                  .qk_norm = true};
static_assert(parameter_count(qwen3_32b).total == 32'762'123'264);

}  // namespace llm::configs
