// Qwen1.5-MoE: 60 small experts beside shared ones that a gate weighs. Source: the checkpoint Qwen/Qwen1.5-MoE-A2.7B.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config qwen1_5_moe_a2_7b{
    .vocab_size = 151936,
    .d_model = 2048,
    .n_layers = 24,
    .n_heads = 16,
    .n_kv_heads = 16,
    .head_dim = 128,
    .ffn_dim = 5632,
    .max_seq_len = 8192,
    .rope_theta = 1000000.0,
    .norm_eps = 1e-6,
    .qkv_bias = true,
    .experts = {.count = 60, .active = 4, .ffn_dim = 1408, .shared_ffn_dim = 5632, .shared_gate = true, .normalise = false}};
static_assert(parameter_count(qwen1_5_moe_a2_7b).total == 14'315'784'192);
static_assert(parameter_count(qwen1_5_moe_a2_7b).active == 2'689'173'504);

}  // namespace llm::configs
