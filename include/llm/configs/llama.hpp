// Llama 2, Llama 3 and TinyLlama. Source: the checkpoints meta-llama/Llama-2-*, meta-llama/Meta-Llama-3-* and TinyLlama/TinyLlama-1.1B.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config llama2_7b{.vocab_size = 32000,
                                  .d_model = 4096,
                                  .n_layers = 32,
                                  .n_heads = 32,
                                  .n_kv_heads = 32,
                                  .head_dim = 128,
                                  .ffn_dim = 11008,
                                  .max_seq_len = 4096,
                                  .rope_theta = 10000.0,
                                  .norm_eps = 1e-5};
static_assert(parameter_count(llama2_7b).total == 6'738'415'616);

inline constexpr Config llama2_70b{.vocab_size = 32000,
                                   .d_model = 8192,
                                   .n_layers = 80,
                                   .n_heads = 64,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 28672,
                                   .max_seq_len = 4096,
                                   .rope_theta = 10000.0,
                                   .norm_eps = 1e-5};
static_assert(parameter_count(llama2_70b).total == 68'976'648'192);

inline constexpr Config llama3_8b{.vocab_size = 128256,
                                  .d_model = 4096,
                                  .n_layers = 32,
                                  .n_heads = 32,
                                  .n_kv_heads = 8,
                                  .head_dim = 128,
                                  .ffn_dim = 14336,
                                  .max_seq_len = 8192,
                                  .rope_theta = 500000.0,
                                  .norm_eps = 1e-5};
static_assert(parameter_count(llama3_8b).total == 8'030'261'248);

inline constexpr Config llama3_70b{.vocab_size = 128256,
                                   .d_model = 8192,
                                   .n_layers = 80,
                                   .n_heads = 64,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 28672,
                                   .max_seq_len = 8192,
                                   .rope_theta = 500000.0,
                                   .norm_eps = 1e-5};
static_assert(parameter_count(llama3_70b).total == 70'553'706'496);

inline constexpr Config tinyllama_1_1b{.vocab_size = 32000,
                                       .d_model = 2048,
                                       .n_layers = 22,
                                       .n_heads = 32,
                                       .n_kv_heads = 4,
                                       .head_dim = 64,
                                       .ffn_dim = 5632,
                                       .max_seq_len = 2048,
                                       .rope_theta = 10000.0,
                                       .norm_eps = 1e-5};
static_assert(parameter_count(tinyllama_1_1b).total == 1'100'048'384);

}  // namespace llm::configs
