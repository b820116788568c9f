// Shapes: an extent is a constant or known at run time. Static extents cost no storage.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include <llm/core/error.hpp>

namespace llm {

/// Marks an extent that is known at run time only.
inline constexpr std::int64_t dyn = -1;

namespace detail {

template <int N>
struct RunTimeExtents {
  std::array<std::int64_t, static_cast<std::size_t>(N)> values{};
  friend constexpr bool operator==(const RunTimeExtents&, const RunTimeExtents&) = default;
};
template <>
struct RunTimeExtents<0> {
  friend constexpr bool operator==(const RunTimeExtents&, const RunTimeExtents&) = default;
};

// A class of its own, so that a wrong extent leaves Shape well formed and is the only error.
template <std::int64_t extent>
struct ValidExtent {
  static_assert(extent >= 0 || extent == dyn, "llm::Shape<Extents...>: an extent is llm::dyn or not negative");
  static constexpr bool ok = true;
};

/// What an extent is given as: a whole number.
template <class T>
concept ExtentValue = std::convertible_to<T, std::int64_t> && !std::floating_point<T>;

/// As many extents are given as there are dyn; constant ones are not given again.
template <std::size_t Given, int Dynamic>
concept OneExtentForEachDyn = (Dynamic > 0) && (Given == static_cast<std::size_t>(Dynamic));

/// a * b, or ShapeError when it does not fit 63 bits. Both are non-negative.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  if (b != 0 && a > INT64_MAX / b) throw ShapeError(concat("llm::Shape: ", a, " x ", b, " elements exceed 2^63"));
  return a * b;
}

/// Elements of a shape without negative extents. Throws ShapeError when they take 2^63 units or more, so many for each, were extents of 0
/// extents of 1: readers of files refuse shapes in which a 0 hides an overflow.
template <class Extents>
constexpr std::int64_t checked_elements(const Extents& extents, std::int64_t units) {
  bool empty = false;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    empty = empty || extent == 0;
    if (extent != 0) count = checked_product(count, extent);
  }
  checked_product(count, units);
  return empty ? 0 : count;
}

}  // namespace detail

/// The extents of a tensor, outermost first: Shape<dyn, dyn, 1536> is [B, T, 1536] with B and T given at run time.
template <std::int64_t... Extents>
struct Shape {
  static_assert((detail::ValidExtent<Extents>::ok && ...));

  static constexpr int rank = sizeof...(Extents);
  static constexpr int rank_dynamic = (0 + ... + (Extents == dyn ? 1 : 0));

  constexpr Shape() = default;

  /// The run-time extents in order, one for each dyn. Throws ShapeError when one is negative.
  template <detail::ExtentValue... I>
  requires detail::OneExtentForEachDyn<sizeof...(I), rank_dynamic>
  constexpr Shape(I... run_time) : run_time_{{static_cast<std::int64_t>(run_time)...}} {
    for (const std::int64_t value : run_time_.values)
      if (value < 0) throw ShapeError(detail::concat("llm::Shape: extent ", value, " is negative"));
  }

  /// The constant extent of axis i, or dyn.
  static constexpr std::int64_t static_extent(int i) {
    constexpr std::array<std::int64_t, sizeof...(Extents) + 1> all{Extents..., 0};
    return all[static_cast<std::size_t>(i)];
  }

  constexpr std::int64_t extent(int i) const {
    if constexpr (rank_dynamic > 0) {
      if (static_extent(i) == dyn) {
        std::size_t at = 0;
        for (int j = 0; j < i; ++j) at += static_extent(j) == dyn ? 1 : 0;
        return run_time_.values[at];
      }
    }
    return static_extent(i);
  }

  constexpr std::array<std::int64_t, sizeof...(Extents)> extents() const {
    std::array<std::int64_t, sizeof...(Extents)> all{};
    for (int i = 0; i < rank; ++i) all[static_cast<std::size_t>(i)] = extent(i);
    return all;
  }

  /// Number of elements; throws ShapeError when it does not fit 63 bits.
  constexpr std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n = detail::checked_product(n, extent(i));
    return n;
  }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  [[no_unique_address]] detail::RunTimeExtents<rank_dynamic> run_time_{};
};

/// "[2, 128, 1536]"
template <std::int64_t... Extents>
std::string to_string(const Shape<Extents...>& shape) {
  std::string text = "[";
  for (int i = 0; i < Shape<Extents...>::rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape.extent(i));
  }
  return text + "]";
}

}  // namespace llm
