// Mistral 7B v0.1: Llama's structure with a sliding window. Source: the checkpoint mistralai/Mistral-7B-v0.1.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config mistral_7b{.vocab_size = 32000,
                                   .d_model = 4096,
                                   .n_layers = 32,
                                   .n_heads = 32,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 14336,
                                   .max_seq_len = 32768,
                                   .rope_theta = 10000.0,
                                   .norm_eps = 1e-5,
                                   .sliding_window = 4096};
static_assert(parameter_count(mistral_7b).total == 7'241'732'096);

}  // namespace llm::configs
