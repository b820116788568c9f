// Elementwise kernels, filling, and whole-buffer sums.
#pragma once

#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/rng.hpp>

namespace llm::reference {

/// y[i] = value
template <class T>
void fill(T* y, std::int64_t n, double value) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(value);
}

/// y[i] = stddev * number i of a normal stream, see normal_at.
template <class T>
void fill_normal(T* y, std::int64_t n, std::uint64_t seed, std::uint64_t stream, double stddev) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(stddev * normal_at(seed, stream, static_cast<std::uint64_t>(i)));
}

/// y[i] = x[i]
template <class T>
void copy(T* y, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

/// y[i] = x[i], as another element type; rounds once.
template <class To, class From>
void convert(To* y, const From* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = To(x[i]);
}

/// y[i] = a[i] + b[i]; y may be a or b.
template <class T>
void add(const T* a, const T* b, T* y, std::int64_t n) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(C(a[i]) + C(b[i]));
}

/// y[i] += x[i], where x may have another element type; rounds once.
template <class T, class X>
void accumulate(T* y, const X* x, std::int64_t n) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(C(y[i]) + C(x[i]));
}

/// y[i] *= factor
template <class T>
void scale(T* y, std::int64_t n, double factor) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(C(y[i]) * C(factor));
}

/// The sum of n elements, in double whatever T is: a gradient norm runs over millions of them.
template <class T>
double sum(const T* x, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += double(x[i]);
  return total;
}

/// The sum of the squares of all elements of `count` arrays, in double.
template <class T>
double sum_of_squares(const Elements<T>* arrays, std::int64_t count) {
  double total = 0;
  for (std::int64_t a = 0; a < count; ++a)
    for (std::int64_t i = 0; i < arrays[a].n; ++i) total += double(arrays[a].data[i]) * double(arrays[a].data[i]);
  return total;
}

}  // namespace llm::reference
