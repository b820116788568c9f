// Softmax over rows and its gradient.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// The largest of n numbers, NaN when one of them is NaN; -inf when there are none.
template <class T>
compute_t<T> largest_of(const T* x, std::int64_t n) {
  using C = compute_t<T>;
  C largest = -std::numeric_limits<C>::infinity();
  for (std::int64_t i = 0; i < n; ++i)
    if (C(x[i]) > largest || std::isnan(C(x[i]))) largest = C(x[i]);
  return largest;
}

/// log sum exp(x[i]), with the maximum taken out so that nothing overflows; -inf for a row of -inf and for an empty row,
/// NaN for one with NaN.
template <class T>
compute_t<T> log_sum_exp(const T* x, std::int64_t n) {
  using C = compute_t<T>;
  const C largest = largest_of(x, n);
  if (largest == -std::numeric_limits<C>::infinity()) return largest;
  C total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(C(x[i]) - largest);
  return largest + std::log(total);
}

/// y = exp(x) / sum exp(x) over each row of x [rows, cols]; y may be x. A row of -inf gives zeros, one with NaN gives NaN.
template <class T>
void softmax_forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* in = x + r * cols;
    T* out = y + r * cols;
    const C largest = largest_of(in, cols);
    const bool empty = largest == -std::numeric_limits<C>::infinity();
    C total = 0;
    for (std::int64_t c = 0; c < cols; ++c) total += empty ? C(1) : std::exp(C(in[c]) - largest);
    for (std::int64_t c = 0; c < cols; ++c) out[c] = T(empty ? C(0) : std::exp(C(in[c]) - largest) / total);
  }
}

/// dx = y (dy - sum(dy y)) over each row; y is what forward wrote.
template <class T>
void softmax_backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols, bool add) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * cols;
    C dot = 0;
    for (std::int64_t c = 0; c < cols; ++c) dot += C(dy[row + c]) * C(y[row + c]);
    for (std::int64_t c = 0; c < cols; ++c) store(dx[row + c], C(y[row + c]) * (C(dy[row + c]) - dot), add);
  }
}

}  // namespace llm::reference
