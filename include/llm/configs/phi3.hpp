// Phi-3 and Phi-4: Llama's structure; files store q, k, v and gate, up as one matrix each. Source: the checkpoints
// microsoft/Phi-3-mini-4k-instruct, microsoft/Phi-3-medium-4k-instruct and microsoft/phi-4.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config phi3_mini_4k{.vocab_size = 32064,
                                     .d_model = 3072,
                                     .n_layers = 32,
                                     .n_heads = 32,
                                     .n_kv_heads = 32,
                                     .head_dim = 96,
                                     .ffn_dim = 8192,
                                     .max_seq_len = 4096,
                                     .rope_theta = 10000.0,
                                     .norm_eps = 1e-5,
                                     .sliding_window = 2047};
static_assert(parameter_count(phi3_mini_4k).total == 3'821'079'552);

inline constexpr Config phi3_medium_4k{.vocab_size = 32064,
                                       .d_model = 5120,
                                       .n_layers = 40,
                                       .n_heads = 40,
                                       .n_kv_heads = 10,
                                       .head_dim = 128,
                                       .ffn_dim = 17920,
                                       .max_seq_len = 4096,
                                       .rope_theta = 10000.0,
                                       .norm_eps = 1e-5,
                                       .sliding_window = 2047};
static_assert(parameter_count(phi3_medium_4k).total == 13'960'238'080);

inline constexpr Config phi4{.vocab_size = 100352,
                             .d_model = 5120,
                             .n_layers = 40,
                             .n_heads = 40,
                             .n_kv_heads = 10,
                             .head_dim = 128,
                             .ffn_dim = 17920,
                             .max_seq_len = 16384,
                             .rope_theta = 250000.0,
                             .norm_eps = 1e-5};
static_assert(parameter_count(phi4).total == 14'659'507'200);

}  // namespace llm::configs
