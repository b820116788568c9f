// Qwen2.5: Llama's structure with biases on q, k and v. Source: the checkpoints Qwen/Qwen2.5-*.
// 32,768 positions are the context that the family documents; some of its files allow more.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config qwen2_5_0_5b{.vocab_size = 151936,
                                     .d_model = 896,
                                     .n_layers = 24,
                                     .n_heads = 14,
                                     .n_kv_heads = 2,
                                     .head_dim = 64,
                                     .ffn_dim = 4864,
                                     .max_seq_len = 32768,
                                     .rope_theta = 1000000.0,
                                     .norm_eps = 1e-6,
                                     .tie_embeddings = true,
                                     .qkv_bias = true};
static_assert(parameter_count(qwen2_5_0_5b).total == 494'032'768);

inline constexpr Config qwen2_5_7b{.vocab_size = 152064,
                                   .d_model = 3584,
                                   .n_layers = 28,
                                   .n_heads = 28,
                                   .n_kv_heads = 4,
                                   .head_dim = 128,
                                   .ffn_dim = 18944,
                                   .max_seq_len = 32768,
                                   .rope_theta = 1000000.0,
                                   .norm_eps = 1e-6,
                                   .qkv_bias = true};
static_assert(parameter_count(qwen2_5_7b).total == 7'615'616'512);

}  // namespace llm::configs
