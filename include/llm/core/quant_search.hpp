// The search for scales and minima of the formats with blocks of 256: least squares over groups of 16 or 32 values.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include <llm/detail/platform.hpp>

namespace llm::detail::quant {

/// One over a scale, or 0 where that is no finite number: such a scale is 0 or below the smallest f16, and so are its values.
inline float inverse_of(float scale) { return std::fabs(scale) < FLT_MIN ? 0.0f : 1.0f / scale; }

/// The largest magnitude.
inline float largest_of(const float* x, int n) {
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  return largest;
}
/// The first value of the largest magnitude. In two passes: clang 19 with AVX-512 gets a loop that keeps value and magnitude wrong.
inline float extreme_of(const float* x, int n) {
  const float largest = largest_of(x, n);
  for (int i = 0; i < n; ++i)
    if (std::fabs(x[i]) == largest) return x[i];
  return 0;
}

/// Numbers that a group's values are rounded to.
struct Levels {
  float low, high;
};

/// v rounded to the nearest level. Plain conversions, which compilers turn into vector code.
LLM_ALWAYS_INLINE float nearest(float v, Levels levels) {
  v -= levels.low;
  const float top = levels.high - levels.low;
  v = v < 0 ? 0 : v;
  v = v > top ? top : v;
  return static_cast<float>(static_cast<std::int32_t>(v + 0.5f)) + levels.low;
}

/// Sums in eight lanes, so that the order of adding is one that vector code can take.
struct LaneSum {
  float lane[8] = {};
  float total() const { return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])); }
};

/// A group's values as scale * q + offset.
struct Line {
  float scale = 0, offset = 0;
};

/// Sum of (x - line(q))^2 with the best q for this line.
template <int N>
float squared_error(const float* x, Line line, Levels levels) {
  const float inverse = inverse_of(line.scale);
  LaneSum sum;
  for (int i = 0; i < N; i += 8)
    for (int l = 0; l < 8; ++l) {
      const float q = nearest((x[i + l] - line.offset) * inverse, levels);
      const float e = x[i + l] - (line.scale * q + line.offset);
      sum.lane[l] += e * e;
    }
  return sum.total();
}

template <int N>
void levels_of(const float* x, Line line, Levels levels, float* q) {
  const float inverse = inverse_of(line.scale);
  for (int i = 0; i < N; ++i) q[i] = nearest((x[i] - line.offset) * inverse, levels);
}

/// What least squares need to know of a group and its levels.
template <int N>
struct Moments {
  double q = 0, qq = 0, xq = 0, x = 0, xx = 0;

  Moments(const float* values, Line line, Levels levels) {
    const float inverse = inverse_of(line.scale);
    LaneSum s_q, s_qq, s_xq, s_x, s_xx;
    for (int i = 0; i < N; i += 8)
      for (int l = 0; l < 8; ++l) {
        const float v = values[i + l], level = nearest((v - line.offset) * inverse, levels);
        s_q.lane[l] += level, s_qq.lane[l] += level * level, s_xq.lane[l] += v * level, s_x.lane[l] += v, s_xx.lane[l] += v * v;
      }
    q = s_q.total(), qq = s_qq.total(), xq = s_xq.total(), x = s_x.total(), xx = s_xx.total();
  }

  /// The line through 0 that fits best.
  Line through_zero() const { return {qq == 0 ? 0 : static_cast<float>(xq / qq), 0}; }
  /// The line with an offset of at most 0 that fits best.
  Line below_zero() const {
    const double det = N * qq - q * q;
    if (det <= 0) return through_zero();
    const Line line{static_cast<float>((N * xq - q * x) / det), static_cast<float>((qq * x - q * xq) / det)};
    return line.offset > 0 ? through_zero() : line;
  }
  double error_of(Line line) const {
    const double s = line.scale, o = line.offset;
    return xx + s * s * qq + N * o * o - 2 * s * xq - 2 * o * x + 2 * s * o * q;
  }
};

/// The best of the lines seen so far.
struct BestLine {
  Line line;
  double error = HUGE_VAL;
  void offer(Line candidate, double candidate_error) {
    if (candidate_error < error) line = candidate, error = candidate_error;
  }
};

/// The scale s for which s * q fits a group best, q being one of the levels. The side of 0 with one level more may be either.
template <int N>
Line search_scale(const float* x, Levels levels, int steps, float width) {
  const float extreme = extreme_of(x, N);
  if (extreme == 0) return {};
  BestLine best;
  for (const float end : {levels.low, levels.high})
    for (int step = -steps; step <= steps; ++step) {
      const float at = end + (end < 0 ? 1.0f : -1.0f) * width * static_cast<float>(step) / static_cast<float>(steps);
      const Moments<N> moments(x, {extreme / at, 0}, levels);
      const Line line = moments.through_zero();
      best.offer(line, moments.error_of(line));
    }
  const Moments<N> again(x, best.line, levels);
  best.offer(again.through_zero(), again.error_of(again.through_zero()));
  return best.line;
}

/// The scale s >= 0 and the offset <= 0 for which s * q + offset fits a group best, q being 0 ... high.
template <int N>
Line search_line(const float* x, Levels levels, int steps, float width) {
  float low = 0, high = x[0];
  for (int i = 0; i < N; ++i) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
  if (high <= low) return {0, low};
  BestLine best;
  for (int step = 0; step <= steps; ++step) {
    // From levels that reach a little beyond the values to levels that leave out the extremes on both sides.
    const float cut = width * (static_cast<float>(step) / static_cast<float>(steps) - 0.25f);
    const float scale = (high - low) / (levels.high + 2 * cut);
    for (const float below : {0.0f, cut}) {
      Line line{scale, low + below * scale};
      if (line.offset > 0) line.offset = 0;
      const Moments<N> moments(x, line, levels);
      const Line fitted = moments.below_zero();
      best.offer(fitted, moments.error_of(fitted));
    }
  }
  for (int round = 0; round < 2; ++round) {
    const Moments<N> again(x, best.line, levels);
    best.offer(again.below_zero(), again.error_of(again.below_zero()));
  }
  return best.line;
}

}  // namespace llm::detail::quant
