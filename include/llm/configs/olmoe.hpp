// OLMoE: 64 small experts and one QK-norm over the width of all heads. Source: the checkpoint allenai/OLMoE-1B-7B-0924.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config olmoe_1b_7b{.vocab_size = 50304,
                                    .d_model = 2048,
                                    .n_layers = 16,
                                    .n_heads = 16,
                                    .n_kv_heads = 16,
                                    .head_dim = 128,
                                    .ffn_dim = 1024,
                                    .max_seq_len = 4096,
                                    .rope_theta = 10000.0,
                                    .norm_eps = 1e-5,
                                    .qk_norm = true,
                                    .qk_norm_joint = true,
                                    .experts = {.count = 64, .active = 8, .normalise = false}};
static_assert(parameter_count(olmoe_1b_7b).total == 6'919'161'856);
static_assert(parameter_count(olmoe_1b_7b).active == 1'282'017'280);

}  // namespace llm::configs
