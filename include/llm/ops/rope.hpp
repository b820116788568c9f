// Rotary position embedding: each pair of a head's elements is turned by position times frequency.
#pragma once

#include <cmath>
#include <vector>

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>
#include <llm/ops/rope_frequencies.hpp>

namespace llm {

namespace detail {
template <std::int64_t Width>
inline constexpr bool is_even = Width % 2 == 0;
template <std::int64_t E, std::int64_t Width>
inline constexpr bool rope_fits = E == dyn || E >= Width;
}  // namespace detail

/// Where the rows of a batch stand: row b, time t is at position starts[b] + t, or start + t when starts is empty.
template <class Backend>
struct Positions {
  std::int64_t start = 0;
  Tensor<std::int64_t, Shape<dyn>, Backend> starts{};
  std::int64_t furthest = 0;  // the largest start of a row

  static Positions from(std::int64_t start) { return {start, {}, start}; }
};

/// cos and sin of position * theta^(-2i / Width), [positions, Width / 2], in f32 whatever the model's type (bf16 would be off by
/// up to 0.8 at long positions); with a scaling, those of rope_frequencies. Not a parameter, never stored in checkpoints.
/// Source: arXiv:2104.09864.
template <std::int64_t Width, class Backend>
struct RopeTables {
  static_assert(detail::is_even<Width>, "llm::RopeTables<Width>: the rotated width must be even, since elements are turned in pairs");
  using Table = Tensor<float, Shape<dyn, Width / 2>, Backend>;
  Table cos, sin;
  bool interleaved = false;

  /// Positions 0 to positions - 1. Throws llm::ValueError for a scaling that has no meaning.
  static RopeTables build(std::int64_t positions, double theta, bool interleaved, const RopeScaling& scaling = {}) {
    const std::int64_t half = Width / 2;
    const RopeFrequencies frequencies = rope_frequencies(Width, theta, scaling);
    std::vector<float> c(static_cast<std::size_t>(positions * half)), s(c.size());
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = frequencies.radians[static_cast<std::size_t>(i)];
      for (std::int64_t p = 0; p < positions; ++p) {
        const double angle = static_cast<double>(p) * frequency;
        c[static_cast<std::size_t>(p * half + i)] = static_cast<float>(frequencies.amplitude * std::cos(angle));
        s[static_cast<std::size_t>(p * half + i)] = static_cast<float>(frequencies.amplitude * std::sin(angle));
      }
    }
    return {Table::from(c, {positions}), Table::from(s, {positions}), interleaved};
  }
};

namespace detail {

template <class T, class Backend>
struct RopeOp {
  RopeArgs args;
  Saved<float> cos, sin;
  Saved<std::int64_t> starts;
  Grad<T, Backend> d_x, d_y;

  void backward() {
    const auto dx = d_x.write();
    Backend::template rope<T>(args, d_y.read(), dx.data, dx.add);
  }
};

}  // namespace detail

/// Turns the first Width elements of every head; the rest stays. x [B, T, H, E] -> [B, T, H, E].
/// Requires Width <= E (compile time) and positions within the tables (else llm::ShapeError). Saves nothing of x.
template <class T, class S, std::int64_t Width, class Backend>
Tensor<T, S, Backend> rope(const Tensor<T, S, Backend>& x, const RopeTables<Width, Backend>& tables, const Positions<Backend>& positions) {
  static_assert(detail::has_rank<S::rank, 4>, "llm::rope(x [B, T, H, E], tables, positions): x must have rank 4");
  static_assert(detail::rope_fits<detail::axis<S, 3>, Width>,
                "llm::rope(x [B, T, H, E], tables, positions): the rotated width must not exceed the head width E");
  if (positions.starts)
    detail::require_equal("llm::rope(x [B, T, H, E], tables, positions)", "B of x", x.extent(0), "starts", positions.starts.numel());
  if (positions.start < 0) throw ShapeError(detail::concat("llm::rope: position ", positions.start, " is negative"));
  const std::int64_t end = positions.furthest + x.extent(1);
  if (end > tables.cos.extent(0))
    throw ShapeError(detail::concat("llm::rope: position ", end - 1, " is beyond the tables' ", tables.cos.extent(0),
                                    " positions (hint: raise Config::max_seq_len)"));
  const std::int64_t* const starts = positions.starts ? positions.starts.data() : nullptr;
  RopeArgs args{x.extent(0),       x.extent(1), x.extent(2),     x.extent(3),        Width, tables.cos.data(),
                tables.sin.data(), starts,      positions.start, tables.interleaved, false};
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  Backend::template rope<T>(args, x.data(), y.data(), false);
  if (Tape* const tape = recording(x)) {
    const auto d_y = output_gradient(y);
    args.inverse = true;
    using G = Grad<T, Backend>;
    const Saved<std::int64_t> kept_starts = positions.starts ? Saved<std::int64_t>(positions.starts) : Saved<std::int64_t>();
    tape->record(y, detail::RopeOp<T, Backend>{args, Saved<float>(tables.cos), Saved<float>(tables.sin), kept_starts, G(x), d_y});
  }
  return y;
}

}  // namespace llm
