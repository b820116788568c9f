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
    const auto dx = d_x.write_over(d_y);
    Backend::template rope<T>(args, d_y.read(), dx.data, dx.add);
  }
};

/// The sizes of a call on x.
template <class X, std::int64_t Width, class Backend>
RopeArgs rope_args(const X& x, const RopeTables<Width, Backend>& tables, const Positions<Backend>& positions) {
  if (positions.starts)
    require_equal("llm::rope(x [B, T, H, E], tables, positions)", "B of x", x.extent(0), "starts", positions.starts.numel());
  if (positions.start < 0) throw ShapeError(concat("llm::rope: position ", positions.start, " is negative"));
  const std::int64_t end = positions.furthest + x.extent(1);
  if (end > tables.cos.extent(0))
    throw ShapeError(concat("llm::rope: position ", end - 1, " is beyond the tables' ", tables.cos.extent(0),
                            " positions (hint: raise Config::max_seq_len)"));
  const std::int64_t* const starts = positions.starts ? positions.starts.data() : nullptr;
  return {x.extent(0),       x.extent(1), x.extent(2),     x.extent(3),        Width, tables.cos.data(),
          tables.sin.data(), starts,      positions.start, tables.interleaved, false};
}

/// y = x turned, into y, which may be the memory of x.
template <class T, class S, std::int64_t Width, class Backend>
Tensor<T, S, Backend> rope_into(const Tensor<T, S, Backend>& x, const RopeTables<Width, Backend>& tables,
                                const Positions<Backend>& positions, RopeArgs args, Tensor<T, S, Backend> y) {
  Backend::template rope<T>(args, x.data(), y.data(), false);
  if (Tape* const tape = recording(x)) {
    const auto d_y = output_gradient(y);
    args.inverse = true;
    using G = Grad<T, Backend>;
    const Saved<std::int64_t> kept_starts = positions.starts ? Saved<std::int64_t>(positions.starts) : Saved<std::int64_t>();
    tape->record(y, RopeOp<T, Backend>{args, Saved<float>(tables.cos), Saved<float>(tables.sin), kept_starts, G(x), d_y});
  }
  return y;
}

template <class S, std::int64_t Width>
constexpr void check_rope() {
  static_assert(has_rank<S::rank, 4>, "llm::rope(x [B, T, H, E], tables, positions): x must have rank 4");
  static_assert(rope_fits<axis<S, 3>, Width>,
                "llm::rope(x [B, T, H, E], tables, positions): the rotated width must not exceed the head width E");
}

}  // namespace detail

/// Turns the first Width elements of every head; the rest stays. x [B, T, H, E] -> [B, T, H, E]. An x that is given away lends the result
/// its memory, see llm::reuse.
/// Requires Width <= E (compile time) and positions within the tables (else llm::ShapeError). Saves nothing of x.
template <class T, class S, std::int64_t Width, class Backend>
Tensor<T, S, Backend> rope(const Tensor<T, S, Backend>& x, const RopeTables<Width, Backend>& tables, const Positions<Backend>& positions) {
  detail::check_rope<S, Width>();
  const RopeArgs args = detail::rope_args(x, tables, positions);
  return detail::rope_into(x, tables, positions, args, Tensor<T, S, Backend>::empty(x.shape()));
}
template <class T, class S, std::int64_t Width, class Backend>
Tensor<T, S, Backend> rope(Tensor<T, S, Backend>&& x, const RopeTables<Width, Backend>& tables, const Positions<Backend>& positions) {
  detail::check_rope<S, Width>();
  const RopeArgs args = detail::rope_args(x, tables, positions);
  return detail::rope_into(x, tables, positions, args, reuse(x));
}

}  // namespace llm
