// Fits the groups of a block of 256 values whose scales (and minima) are small integers times one number of the block.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/quant_search.hpp>

namespace llm::detail::quant {

/// How a format with blocks of 256 divides them: value = d * scale * q - d_min * minimum, per group of Group values.
struct SuperBlockLayout {
  int group;                  // values
  Levels levels;              // of q
  int scale_low, scale_high;  // of a group's scale
  int minimum_high;           // of a group's minimum, from 0; 0: the format has none
  int steps;                  // of the search
  float width;                // of the search, in levels
  int reach;                  // how far around the nearest a group's integers are tried
};

/// A block's encoding before it is packed. Values are those of the block divided by `unit`, a power of two.
template <SuperBlockLayout L>
struct SuperBlock {
  static constexpr int groups = 256 / L.group;

  f16 d{0.0f}, d_min{0.0f};
  int scale[groups] = {}, minimum[groups] = {};
  std::uint8_t q[256] = {};  // level - levels.low
};

/// The search for one block. All of it happens on values divided by a power of two, so that none is large or tiny; only d and d_min are
/// rounded as they are stored, and every error is that of the numbers a reader gets.
template <SuperBlockLayout L>
class SuperBlockFit {
 public:
  static constexpr int groups = 256 / L.group;
  static constexpr bool has_minimum = L.minimum_high > 0;

  /// x: 256 finite values.
  explicit SuperBlockFit(const float* x) {
    const float largest = largest_of(x, 256);
    if (largest == 0) return;
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent_ = exponent;
    for (int i = 0; i < 256; ++i) x_[i] = std::ldexp(x[i], -exponent);
    search();
  }

  SuperBlock<L> encode() const {
    SuperBlock<L> out;
    out.d = stored(best_.d), out.d_min = stored(best_.d_min);
    for (int j = 0; j < groups; ++j) {
      out.scale[j] = best_.scale[j], out.minimum[j] = best_.minimum[j];
      float q[L.group];
      levels_of<L.group>(x_ + j * L.group, line(best_, j), L.levels, q);
      for (int i = 0; i < L.group; ++i) out.q[j * L.group + i] = static_cast<std::uint8_t>(q[i] - L.levels.low);
    }
    return out;
  }

  /// The numbers d and d_min that were wanted, before they were rounded to f16.
  float wanted_d() const { return std::ldexp(best_.d, exponent_); }
  float wanted_d_min() const { return std::ldexp(best_.d_min, exponent_); }

 private:
  struct State {
    float d = 0, d_min = 0;
    int scale[groups] = {}, minimum[groups] = {};
    double error = HUGE_VAL;
  };

  f16 stored(float value) const { return f16(std::ldexp(value, exponent_)); }
  /// What a reader gets of a number of the block, in our unit; numbers beyond f16 are left to whoever packs the block.
  float as_read(float value) const {
    const auto read = static_cast<float>(stored(value));
    return std::isfinite(read) ? std::ldexp(read, -exponent_) : value;
  }
  static Line line(const State& s, int j) {
    return {s.d * static_cast<float>(s.scale[j]), has_minimum ? -s.d_min * static_cast<float>(s.minimum[j]) : 0.0f};
  }

  void search() {
    for (int j = 0; j < groups; ++j) {
      const float* group = x_ + j * L.group;
      lines_[j] =
          has_minimum ? search_line<L.group>(group, L.levels, L.steps, L.width) : search_scale<L.group>(group, L.levels, L.steps, L.width);
    }
    float scales[groups], lowest = 0;
    for (int j = 0; j < groups; ++j) {
      scales[j] = lines_[j].scale;
      lowest = lines_[j].offset < lowest ? lines_[j].offset : lowest;
    }
    const float extreme = extreme_of(scales, groups);
    const auto end = static_cast<float>(L.scale_low < 0 ? L.scale_low : L.scale_high);
    State state;
    state.d = as_read(extreme / end);
    state.d_min = has_minimum ? as_read(-lowest / static_cast<float>(L.minimum_high)) : 0.0f;
    for (int round = 0; round < 4; ++round) {
      for (int j = 0; j < groups; ++j) choose_integers(state, j);
      state.error = error_of(state);
      if (state.error >= best_.error) return;
      best_ = state;
      fit_numbers(state);
    }
  }

  static int clamp(float v, int low, int high) {
    if (!(v > static_cast<float>(low))) return low;
    return v < static_cast<float>(high) ? static_cast<int>(std::lround(v)) : high;
  }

  /// The integers of a group that are best for this d and d_min.
  void choose_integers(State& state, int j) const {
    const float* group = x_ + j * L.group;
    const int scale = clamp(state.d == 0 ? 0 : lines_[j].scale / state.d, L.scale_low, L.scale_high);
    const int minimum = clamp(state.d_min == 0 ? 0 : -lines_[j].offset / state.d_min, 0, L.minimum_high);
    float best = HUGE_VALF;
    int best_scale = 0, best_minimum = 0;
    for (int s = scale - L.reach; s <= scale + L.reach; ++s)
      for (int m = minimum - (has_minimum ? L.reach : 0); m <= minimum + (has_minimum ? L.reach : 0); ++m) {
        if (s < L.scale_low || s > L.scale_high || m < 0 || m > L.minimum_high) continue;
        state.scale[j] = s, state.minimum[j] = m;
        const float error = squared_error<L.group>(group, line(state, j), L.levels);
        if (error < best) best = error, best_scale = s, best_minimum = m;
      }
    state.scale[j] = best_scale, state.minimum[j] = best_minimum;
  }

  double error_of(const State& state) const {
    double sum = 0;
    for (int j = 0; j < groups; ++j) sum += static_cast<double>(squared_error<L.group>(x_ + j * L.group, line(state, j), L.levels));
    return sum;
  }

  /// d and d_min by least squares over the block, all integers kept.
  void fit_numbers(State& state) const {
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;  // a = scale q, b = -minimum
    for (int j = 0; j < groups; ++j) {
      const Moments<L.group> moments(x_ + j * L.group, line(state, j), L.levels);
      const double s = state.scale[j], m = -state.minimum[j];
      aa += s * s * moments.qq, ab += s * m * moments.q, bb += L.group * m * m, xa += s * moments.xq, xb += m * moments.x;
    }
    const double det = aa * bb - ab * ab;
    if (has_minimum && det > 1e-9 * aa * bb && bb > 0) {
      const double d_min = (aa * xb - ab * xa) / det;
      state.d = as_read(static_cast<float>((bb * xa - ab * xb) / det));
      state.d_min = as_read(static_cast<float>(d_min > 0 ? d_min : 0));
    } else if (aa > 0) {
      state.d = as_read(static_cast<float>((xa - ab * static_cast<double>(state.d_min)) / aa));
    }
  }

  float x_[256] = {};
  int exponent_ = 0;
  Line lines_[groups];
  State best_;
};

}  // namespace llm::detail::quant
