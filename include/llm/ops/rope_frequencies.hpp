// The frequencies of rotary position embedding, as trained or stretched for longer contexts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/core/rope_scaling.hpp>

namespace llm {

/// What RoPE does to a pair: it turns pair i by position * radians[i] and multiplies it by amplitude.
struct RopeFrequencies {
  std::vector<double> radians;  // [width / 2], those of one position
  double amplitude = 1.0;       // of cos and sin; other than 1 for yarn alone
};

namespace detail {

inline void require_scaling(bool holds, const char* rule, double found) {
  if (!holds) throw ValueError(concat("llm::RopeScaling: ", rule, ", found ", found));
}

/// Throws llm::ValueError for a field that the kind reads and that has no meaning.
inline void check_rope_scaling(double theta, const RopeScaling& s) {
  const auto positive = [](double x) { return x > 0.0 && std::isfinite(x); };
  const auto not_negative = [](double x) { return x >= 0.0 && std::isfinite(x); };
  if (s.kind == RopeScalingKind::none) return;
  require_scaling(positive(s.factor), "factor must be greater than 0 and finite", s.factor);
  if (s.kind == RopeScalingKind::linear) return;
  require_scaling(s.original_max_seq_len > 0, "original_max_seq_len must be at least 1", static_cast<double>(s.original_max_seq_len));
  if (s.kind == RopeScalingKind::llama3) {
    require_scaling(positive(s.low_freq_factor), "low_freq_factor must be greater than 0 and finite", s.low_freq_factor);
    require_scaling(positive(s.high_freq_factor - s.low_freq_factor), "high_freq_factor must be greater than low_freq_factor and finite",
                    s.high_freq_factor);
    return;
  }
  require_scaling(theta > 1.0 && std::isfinite(theta), "yarn needs a rope_theta that is greater than 1 and finite", theta);
  require_scaling(positive(s.beta_slow), "beta_slow must be greater than 0 and finite", s.beta_slow);
  require_scaling(not_negative(s.beta_fast - s.beta_slow), "beta_fast must not be less than beta_slow, and finite", s.beta_fast);
  require_scaling(not_negative(s.attention_factor), "attention_factor must not be negative, and finite", s.attention_factor);
  require_scaling(not_negative(s.mscale), "mscale must not be negative, and finite", s.mscale);
  require_scaling(not_negative(s.mscale_all_dim), "mscale_all_dim must not be negative, and finite", s.mscale_all_dim);
}

/// frequency / factor at share 1, frequency at share 0, a mixture between.
inline double stretched(double frequency, double factor, double share) { return share * frequency / factor + (1.0 - share) * frequency; }

/// The share of a frequency that is stretched, by its turns over the first context: 1 up to low_freq_factor, 0 from high_freq_factor on.
inline double llama3_share(double frequency, const RopeScaling& s) {
  const double turns = static_cast<double>(s.original_max_seq_len) * frequency / (2.0 * std::numbers::pi);
  return std::clamp((s.high_freq_factor - turns) / (s.high_freq_factor - s.low_freq_factor), 0.0, 1.0);
}

/// The pairs between which yarn's share rises from 0 to 1; pairs count from 0 and may lie between two.
struct YarnRange {
  double first, last;

  double share(double pair) const { return std::clamp((pair - first) / (last - first), 0.0, 1.0); }
};

inline YarnRange yarn_range(double width, double theta, const RopeScaling& s) {
  // theta^(-2 pair / width) * original_max_seq_len = 2 pi turns
  const auto pair_with = [&](double turns) {
    const double ratio = static_cast<double>(s.original_max_seq_len) / (turns * 2.0 * std::numbers::pi);
    return width * std::log(ratio) / (2.0 * std::log(theta));
  };
  double first = pair_with(s.beta_fast), last = pair_with(s.beta_slow);
  if (s.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = (std::max)(first, 0.0);
  last = (std::min)(last, width - 1.0);
  if (first == last) last += 0.001;  // a step, and no division by zero
  return {first, last};
}

/// Grows with the logarithm of the factor; at least 1 for weight >= 0.
inline double yarn_mscale(double factor, double weight) { return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0; }

inline double yarn_amplitude(const RopeScaling& s) {
  if (s.attention_factor != 0.0) return s.attention_factor;
  if (s.mscale != 0.0 && s.mscale_all_dim != 0.0) return yarn_mscale(s.factor, s.mscale) / yarn_mscale(s.factor, s.mscale_all_dim);
  return yarn_mscale(s.factor, 1.0);
}

}  // namespace detail

/// theta^(-2i / width), stretched as `scaling` says, in double. `width` is the rotated width of a head, even.
/// The rules, also yarn's bounds in whole pairs, are those of Hugging Face transformers for the rope_type of the same name.
/// mscale_all_dim acts here through the amplitude alone; DeepSeek's latent attention also scales its scores by it, which is not done here.
/// Throws llm::ValueError for a scaling that has no meaning. Sources: arXiv:2104.09864, 2306.15595 (linear), 2309.00071 (yarn).
inline RopeFrequencies rope_frequencies(std::int64_t width, double theta, const RopeScaling& scaling = {}) {
  detail::check_rope_scaling(theta, scaling);
  const auto w = static_cast<double>(width);
  RopeFrequencies out;
  for (std::int64_t i = 0; i < width / 2; ++i) out.radians.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / w));
  switch (scaling.kind) {
    case RopeScalingKind::none:
      break;
    case RopeScalingKind::linear:
      for (double& r : out.radians) r /= scaling.factor;
      break;
    case RopeScalingKind::llama3:
      for (double& r : out.radians) r = detail::stretched(r, scaling.factor, detail::llama3_share(r, scaling));
      break;
    case RopeScalingKind::yarn: {
      const detail::YarnRange range = detail::yarn_range(w, theta, scaling);
      double pair = 0.0;
      for (double& r : out.radians) r = detail::stretched(r, scaling.factor, range.share(pair++));
      out.amplitude = detail::yarn_amplitude(scaling);
      break;
    }
  }
  return out;
}

}  // namespace llm
