// Elementwise kernels, and the functions that start them. Width elements are accessed at a time and n % Width == 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/cuda/block.cuh>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// y[i] = value
template <class T, int Width>
static __global__ void fill(T* y, std::int64_t n, T value) {
  using P = Pack<T, Width>;
  P* const out = reinterpret_cast<P*>(y);
  P b;
  for (int j = 0; j < Width; ++j) b.values[j] = value;
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) out[i] = b;
}

/// y[i] = x[i], rounded once where To is narrower.
template <class To, class From, int Width>
static __global__ void convert(To* y, const From* x, std::int64_t n) {
  using P = Pack<To, Width>;
  using Q = Pack<From, Width>;
  P* const out = reinterpret_cast<P*>(y);
  const Q* const in = reinterpret_cast<const Q*>(x);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    const Q a = in[i];
    P b;
    for (int j = 0; j < Width; ++j) b.values[j] = static_cast<To>(a.values[j]);
    out[i] = b;
  }
}

/// y[i] = a[i] + b[i]; y may be a or b.
template <class T, class X, int Width>
static __global__ void add(const T* a, const X* b, T* y, std::int64_t n) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  using Q = Pack<X, Width>;
  const P* const left = reinterpret_cast<const P*>(a);
  const Q* const right = reinterpret_cast<const Q*>(b);
  P* const out = reinterpret_cast<P*>(y);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    P sum = left[i];
    const Q other = right[i];
    for (int j = 0; j < Width; ++j) sum.values[j] = static_cast<T>(static_cast<C>(sum.values[j]) + static_cast<C>(other.values[j]));
    out[i] = sum;
  }
}

/// y[i] *= factor
template <class T, int Width>
static __global__ void scale(T* y, std::int64_t n, compute_t<T> factor) {
  using P = Pack<T, Width>;
  P* const out = reinterpret_cast<P*>(y);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    P b = out[i];
    for (int j = 0; j < Width; ++j) b.values[j] = static_cast<T>(static_cast<compute_t<T>>(b.values[j]) * factor);
    out[i] = b;
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// y[i] = value
template <class T>
void fill(T* y, std::int64_t n, double value) {
  const bool wide = device::accessible_wide<T>(n, y);
  const auto kernel = wide ? device::fill<T, device::full_width<T>> : device::fill<T, 1>;
  device::launch_elements<T>(kernel, n, wide, y, n, static_cast<T>(value));
}

/// y[i] = x[i], as another element type; rounds once.
template <class To, class From>
void convert(To* y, const From* x, std::int64_t n) {
  constexpr int width = (std::min)(device::full_width<To>, device::full_width<From>);
  const bool wide = device::accessible_wide<To>(n, y) && device::accessible_wide<From>(n, x);
  const auto kernel = wide ? device::convert<To, From, width> : device::convert<To, From, 1>;
  device::launch_elements<To>(kernel, n, wide, y, x, n);
}

/// y[i] = x[i]
template <class T>
void copy(T* y, const T* x, std::int64_t n) {
  convert<T, T>(y, x, n);
}

/// y[i] = a[i] + b[i]; y may be a or b.
template <class T, class X = T>
void add(const T* a, const X* b, T* y, std::int64_t n) {
  constexpr int width = (std::min)(device::full_width<T>, device::full_width<X>);
  const bool wide = device::accessible_wide<T>(n, a, y) && device::accessible_wide<X>(n, b);
  const auto kernel = wide ? device::add<T, X, width> : device::add<T, X, 1>;
  device::launch_elements<T>(kernel, n, wide, a, b, y, n);
}

/// y[i] += x[i], where x may have another element type; rounds once.
template <class T, class X>
void accumulate(T* y, const X* x, std::int64_t n) {
  add<T, X>(y, x, y, n);
}

/// y[i] *= factor
template <class T>
void scale(T* y, std::int64_t n, double factor) {
  const bool wide = device::accessible_wide<T>(n, y);
  const auto kernel = wide ? device::scale<T, device::full_width<T>> : device::scale<T, 1>;
  device::launch_elements<T>(kernel, n, wide, y, n, static_cast<compute_t<T>>(factor));
}

}  // namespace llm::cuda
