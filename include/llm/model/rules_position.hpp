// Rules about positions: rotary embedding, its scaling, and windows.
#pragma once

#include <llm/model/rule.hpp>

namespace llm::config_rules {

// clang-format off
LLM_CONFIG_RULE(rope_dim_not_negative, rope_dim, c.rope_dim, minimum, 0, true, rope_dim >= minimum,
                "llm::Config: rope_dim must not be negative (0 means that all of a head is rotated)")
LLM_CONFIG_RULE(rope_dim_needs_rope, rope_dim, c.rope_dim, rotary, std::int64_t{c.rotary()}, rope_dim >= 1, rotary == 1,
                "llm::Config: rope_dim is given, but position is neither rope_half nor rope_interleaved")
LLM_CONFIG_RULE(rope_dim_even, rope_dim, c.rope_width(), divisor, 2, detail::has_head_width(c) && rope_dim >= 1, rope_dim % divisor == 0,
                "llm::Config: rope_dim (0: head_dim) must be even, since RoPE rotates pairs of dimensions")
LLM_CONFIG_RULE(rope_dim_within_head, rope_dim, c.rope_width(), head_dim, c.head_width(), detail::has_head_width(c), rope_dim <= head_dim,
                "llm::Config: rope_dim must not exceed head_dim, the width of a head")
LLM_CONFIG_RULE(rope_theta_positive, rope_theta, c.rope_theta, limit, 0, c.rotary(), rope_theta > limit && rope_theta != INT64_MAX,
                "llm::Config: rope_theta must be greater than 0 and finite")
LLM_CONFIG_RULE(sliding_window_not_negative, sliding_window, c.sliding_window, minimum, 0, true, sliding_window >= minimum,
                "llm::Config: sliding_window must not be negative (0 means that a position sees all earlier ones)")
LLM_CONFIG_RULE(full_attention_every_not_negative, full_attention_every, c.full_attention_every, minimum, 0, true,
                full_attention_every >= minimum,
                "llm::Config: full_attention_every must not be negative (0 means that every layer has the sliding window)")
LLM_CONFIG_RULE(full_attention_needs_window, full_attention_every, c.full_attention_every, sliding_window, c.sliding_window,
                full_attention_every >= 1 && sliding_window >= 0, sliding_window >= 1,
                "llm::Config: full_attention_every is given, but sliding_window is 0: every layer sees all positions")
LLM_CONFIG_RULE(rope_theta_window_valid, rope_theta_window, c.rope_theta_window, minimum, 0, true,
                rope_theta_window >= minimum && rope_theta_window != INT64_MAX,
                "llm::Config: rope_theta_window must be 0 (as rope_theta) or positive, and finite")
LLM_CONFIG_RULE(rope_theta_window_needs_window, rope_theta_window, c.rope_theta_window, sliding_window, c.sliding_window,
                rope_theta_window >= 1 && sliding_window >= 0, sliding_window >= 1,
                "llm::Config: rope_theta_window is given, but sliding_window is 0: no layer has a window")
LLM_CONFIG_RULE(rope_scaling_needs_rope, rope_scaling, static_cast<std::int64_t>(c.rope_scaling.kind), rotary, std::int64_t{c.rotary()},
                rope_scaling != 0, rotary == 1,
                "llm::Config: rope_scaling is given, but position is neither rope_half nor rope_interleaved")
LLM_CONFIG_RULE(rope_factor_positive, factor, c.rope_scaling.factor, limit, 0, c.rope_scaling.kind != RopeScalingKind::none,
                factor > limit && factor != INT64_MAX,
                "llm::Config: rope_scaling.factor must be greater than 0 and finite")
LLM_CONFIG_RULE(rope_scaling_has_kind, factor, c.rope_scaling.factor, kind, static_cast<std::int64_t>(c.rope_scaling.kind),
                c.rope_scaling.factor != 1.0, kind != 0,
                "llm::Config: rope_scaling.factor is given, but rope_scaling.kind is none")
LLM_CONFIG_RULE(rope_original_length_positive, original_max_seq_len, c.rope_scaling.original_max_seq_len, minimum, 1,
                c.rope_scaling.kind == RopeScalingKind::llama3 || c.rope_scaling.kind == RopeScalingKind::yarn,
                original_max_seq_len >= minimum,
                "llm::Config: rope_scaling.kind llama3 and yarn need original_max_seq_len, the context of the first training")
LLM_CONFIG_RULE(rope_low_factor_positive, low_freq_factor, c.rope_scaling.low_freq_factor, limit, 0,
                c.rope_scaling.kind == RopeScalingKind::llama3, low_freq_factor > limit && low_freq_factor != INT64_MAX,
                "llm::Config: rope_scaling.low_freq_factor must be greater than 0 and finite")
LLM_CONFIG_RULE(rope_factors_ordered, high_minus_low, c.rope_scaling.high_freq_factor - c.rope_scaling.low_freq_factor, limit, 0,
                c.rope_scaling.kind == RopeScalingKind::llama3, high_minus_low > limit && high_minus_low != INT64_MAX,
                "llm::Config: rope_scaling.high_freq_factor must be finite and greater than low_freq_factor")
LLM_CONFIG_RULE(rope_beta_slow_positive, beta_slow, c.rope_scaling.beta_slow, limit, 0, c.rope_scaling.kind == RopeScalingKind::yarn,
                beta_slow > limit && beta_slow != INT64_MAX,
                "llm::Config: rope_scaling.beta_slow must be greater than 0 and finite")
LLM_CONFIG_RULE(rope_betas_ordered, fast_minus_slow, c.rope_scaling.beta_fast - c.rope_scaling.beta_slow, minimum, 0,
                c.rope_scaling.kind == RopeScalingKind::yarn, fast_minus_slow >= minimum && fast_minus_slow != INT64_MAX,
                "llm::Config: rope_scaling.beta_fast must be finite and at least beta_slow")
LLM_CONFIG_RULE(rope_attention_factor_valid, attention_factor, c.rope_scaling.attention_factor, minimum, 0,
                c.rope_scaling.kind == RopeScalingKind::yarn, attention_factor >= minimum && attention_factor != INT64_MAX,
                "llm::Config: rope_scaling.attention_factor must not be negative, and finite")
LLM_CONFIG_RULE(rope_mscale_valid, mscale, c.rope_scaling.mscale, minimum, 0, c.rope_scaling.kind == RopeScalingKind::yarn,
                mscale >= minimum && mscale != INT64_MAX,
                "llm::Config: rope_scaling.mscale must not be negative, and finite")
LLM_CONFIG_RULE(rope_mscale_all_dim_valid, mscale_all_dim, c.rope_scaling.mscale_all_dim, minimum, 0,
                c.rope_scaling.kind == RopeScalingKind::yarn, mscale_all_dim >= minimum && mscale_all_dim != INT64_MAX,
                "llm::Config: rope_scaling.mscale_all_dim must not be negative, and finite")
// clang-format on

struct Positions
    : List<rope_dim_not_negative, rope_dim_needs_rope, rope_dim_even, rope_dim_within_head, rope_theta_positive,
           sliding_window_not_negative, full_attention_every_not_negative, full_attention_needs_window, rope_theta_window_valid,
           rope_theta_window_needs_window, rope_scaling_needs_rope, rope_factor_positive, rope_scaling_has_kind,
           rope_original_length_positive, rope_low_factor_positive, rope_factors_ordered, rope_beta_slow_positive, rope_betas_ordered,
           rope_attention_factor_valid, rope_mscale_valid, rope_mscale_all_dim_valid> {};

}  // namespace llm::config_rules
