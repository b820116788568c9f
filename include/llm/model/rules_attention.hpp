// Rules about attention and norms: QK-norm, latent attention, scales and caps.
#pragma once

#include <llm/model/rule.hpp>

namespace llm::config_rules {

// clang-format off
LLM_CONFIG_RULE(qk_norm_is_rms_norm, qk_norm, std::int64_t{c.qk_norm}, norm, static_cast<std::int64_t>(c.norm), qk_norm == 1,
                norm == static_cast<std::int64_t>(Norm::rms_norm),
                "llm::Config: qk_norm normalises heads by RMSNorm and needs norm = Norm::rms_norm, not layer_norm")
LLM_CONFIG_RULE(qk_norm_joint_needs_qk_norm, qk_norm_joint, std::int64_t{c.qk_norm_joint}, qk_norm, std::int64_t{c.qk_norm},
                qk_norm_joint == 1, qk_norm == 1,
                "llm::Config: qk_norm_joint says how qk_norm works, but qk_norm is false")
LLM_CONFIG_RULE(norm_gain_offset_is_rms_norm, norm_gain_offset, std::int64_t{c.norm_gain_offset}, norm, static_cast<std::int64_t>(c.norm),
                norm_gain_offset == 1, norm == static_cast<std::int64_t>(Norm::rms_norm),
                "llm::Config: norm_gain_offset belongs to RMSNorm and needs norm = Norm::rms_norm, not layer_norm")
LLM_CONFIG_RULE(parallel_residual_is_pre_norm, parallel_residual, std::int64_t{c.parallel_residual}, norm_position,
                static_cast<std::int64_t>(c.norm_position), parallel_residual == 1,
                norm_position == static_cast<std::int64_t>(NormPosition::pre),
                "llm::Config: parallel_residual normalises before both branches and needs norm_position = NormPosition::pre")
LLM_CONFIG_RULE(attention_scale_valid, attention_scale, c.attention_scale, minimum, 0, true,
                attention_scale >= minimum && attention_scale != INT64_MAX,
                "llm::Config: attention_scale must be 0 (the default) or positive, and finite")
LLM_CONFIG_RULE(attention_softcap_valid, attention_softcap, c.attention_softcap, minimum, 0, true,
                attention_softcap >= minimum && attention_softcap != INT64_MAX,
                "llm::Config: attention_softcap must be 0 (the default) or positive, and finite")
LLM_CONFIG_RULE(logit_softcap_valid, logit_softcap, c.logit_softcap, minimum, 0, true,
                logit_softcap >= minimum && logit_softcap != INT64_MAX,
                "llm::Config: logit_softcap must be 0 (the default) or positive, and finite")
LLM_CONFIG_RULE(mla_kv_rank_not_negative, kv_rank, c.mla.kv_rank, minimum, 0, true, kv_rank >= minimum,
                "llm::Config: mla.kv_rank must not be negative (0 means no latent attention)")
LLM_CONFIG_RULE(mla_q_rank_not_negative, q_rank, c.mla.q_rank, minimum, 0, c.mla.kv_rank > 0, q_rank >= minimum,
                "llm::Config: mla.q_rank must not be negative (0 means queries without a latent)")
LLM_CONFIG_RULE(mla_needs_kv_rank, widths, c.mla.q_rank != 0 || c.mla.nope_dim != 0 || c.mla.rope_dim != 0 || c.mla.v_dim != 0, kv_rank,
                c.mla.kv_rank, widths != 0, kv_rank != 0,
                "llm::Config: fields of mla are given, but mla.kv_rank is 0, which means no latent attention")
LLM_CONFIG_RULE(mla_nope_dim_not_negative, nope_dim, c.mla.nope_dim, minimum, 0, c.mla.kv_rank > 0, nope_dim >= minimum,
                "llm::Config: mla.nope_dim must not be negative")
LLM_CONFIG_RULE(mla_rope_dim_positive, rope_dim, c.mla.rope_dim, minimum, 1, c.mla.kv_rank > 0, rope_dim >= minimum,
                "llm::Config: mla.rope_dim, the rotated part of a head, must be at least 1")
LLM_CONFIG_RULE(mla_v_dim_positive, v_dim, c.mla.v_dim, minimum, 1, c.mla.kv_rank > 0, v_dim >= minimum,
                "llm::Config: mla.v_dim, the width of a value head, must be at least 1")
LLM_CONFIG_RULE(mla_head_dim, head_dim, c.head_dim, nope_plus_rope, c.mla.head_width(), c.mla.kv_rank > 0 && head_dim != 0,
                head_dim == nope_plus_rope,
                "llm::Config: with mla, head_dim must be 0 or mla.nope_dim + mla.rope_dim")
LLM_CONFIG_RULE(mla_every_head_its_own, n_kv_heads, c.n_kv_heads, n_heads, c.n_heads,
                c.mla.kv_rank > 0 && n_kv_heads > 0 && n_kv_heads <= n_heads, n_kv_heads == n_heads,
                "llm::Config: with mla every query head has keys of its own: n_kv_heads must be 0 or n_heads")
LLM_CONFIG_RULE(mla_is_rotary, kv_rank, c.mla.kv_rank, rotary, std::int64_t{c.rotary()}, kv_rank > 0, rotary == 1,
                "llm::Config: mla rotates a part of each head: position must be rope_half or rope_interleaved")
LLM_CONFIG_RULE(mla_rope_dim_once, rope_dim, c.rope_dim, mla_rope_dim, c.mla.rope_dim, c.mla.kv_rank > 0 && c.rotary() && rope_dim >= 1,
                rope_dim == mla_rope_dim,
                "llm::Config: with mla, rope_dim must be 0 or mla.rope_dim")
LLM_CONFIG_RULE(mla_without_qk_norm, kv_rank, c.mla.kv_rank, qk_norm, std::int64_t{c.qk_norm}, kv_rank > 0, qk_norm == 0,
                "llm::Config: mla normalises its latents: qk_norm must be false")
LLM_CONFIG_RULE(mla_without_bias, kv_rank, c.mla.kv_rank, qkv_bias, std::int64_t{c.qkv_bias}, kv_rank > 0, qkv_bias == 0,
                "llm::Config: mla has no biases of q, k and v: qkv_bias must be false")
// clang-format on

struct Attention : List<qk_norm_is_rms_norm, qk_norm_joint_needs_qk_norm, norm_gain_offset_is_rms_norm, parallel_residual_is_pre_norm,
                        attention_scale_valid, attention_softcap_valid, logit_softcap_valid, mla_kv_rank_not_negative,
                        mla_q_rank_not_negative, mla_needs_kv_rank, mla_nope_dim_not_negative, mla_rope_dim_positive, mla_v_dim_positive,
                        mla_head_dim, mla_every_head_its_own, mla_is_rotary, mla_rope_dim_once, mla_without_qk_norm, mla_without_bias> {};

}  // namespace llm::config_rules
