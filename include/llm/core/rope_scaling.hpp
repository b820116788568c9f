// RopeScaling: how a model's rotary frequencies are stretched for long contexts.
#pragma once

#include <cstdint>

namespace llm {

/// How RoPE's frequencies are stretched for contexts beyond those of the first training.
/// linear: all by `factor` (arXiv:2306.15595). llama3: low ones by `factor`, high ones not at all, a slope between (Llama 3.1).
/// yarn: as llama3 with bounds in turns over the first context, and a scale of cos and sin (arXiv:2309.00071).
enum class RopeScalingKind : std::uint8_t { none, linear, llama3, yarn };

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 1.0;
  std::int64_t original_max_seq_len = 0;  // llama3, yarn: the context of the first training
  double low_freq_factor = 1.0;           // llama3: wavelengths beyond original_max_seq_len / this are stretched fully
  double high_freq_factor = 4.0;          // llama3: those below original_max_seq_len / this stay
  double beta_fast = 32.0;                // yarn: frequencies with more turns than this over the first context stay
  double beta_slow = 1.0;                 // yarn: those with fewer are stretched fully
  double attention_factor = 0.0;          // yarn: scale of cos and sin; 0: from mscale, mscale_all_dim, else 0.1 ln(factor) + 1
  double mscale = 0.0;                    // yarn (DeepSeek): scale of cos and sin, with mscale_all_dim
  double mscale_all_dim = 0.0;            // yarn (DeepSeek): also scales the scores, by (0.1 mscale_all_dim ln(factor) + 1)^2
  bool truncate = true;                   // yarn: the bounds beta_fast and beta_slow give are rounded outwards to whole pairs

  friend constexpr bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

}  // namespace llm
