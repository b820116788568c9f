// Kernels of softmax over rows, forward and backward, and the functions that start them. Results do not depend on the device.
//
// Rows are [rows, cols] dense; C is compute_t<T>. Width elements are accessed at a time and cols % Width == 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// The largest element x of a row, -inf when there is none and NaN when one is NaN, and the sum of exp(x - max): 0 when max is -inf.
template <class C>
struct MaxAndSum {
  static constexpr C no_max = -std::numeric_limits<C>::infinity();

  C max = no_max;
  C sum = 0;

  /// log sum exp(x)
  __device__ C log_sum_exp() const { return max == no_max ? max : max + std::log(sum); }
};

/// Of one row, in every thread of the block, in one pass: a thread scales its sum anew when it meets a larger element.
/// scratch: 32 values of shared memory. Source: arXiv:1805.02867 (online softmax).
template <class T, int Width>
static __device__ MaxAndSum<compute_t<T>> max_and_sum_of_row(const Pack<T, Width>* in, std::int64_t packs, compute_t<T>* scratch) {
  using C = compute_t<T>;
  constexpr C no_max = MaxAndSum<C>::no_max;
  MaxAndSum<C> own;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T, Width> a = in[i];
    C max = own.max;
    for (int j = 0; j < Width; ++j) max = Larger{}(max, static_cast<C>(a.values[j]));
    if (max == no_max) continue;  // -inf - -inf is NaN
    own.sum *= std::exp(own.max - max);
    for (int j = 0; j < Width; ++j) own.sum += std::exp(static_cast<C>(a.values[j]) - max);
    own.max = max;
  }
  const C max = block_join(own.max, no_max, scratch, Larger{});
  return {max, block_sum(max == no_max ? C{0} : own.sum * std::exp(own.max - max), scratch)};
}

/// y = exp(x) / sum exp(x), one block a row at a time; y may be x. A row of -inf gives zeros. Shared memory: 32 C.
template <class T, int Width>
static __global__ void softmax_forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  const std::int64_t packs = cols / Width;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(x + row * cols);  // [packs]
    P* const out = reinterpret_cast<P*>(y + row * cols);             // [packs]
    const MaxAndSum<C> whole = max_and_sum_of_row<T, Width>(in, packs, scratch);
    const bool empty = whole.max == MaxAndSum<C>::no_max;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i];
      P b;
      for (int j = 0; j < Width; ++j)
        b.values[j] = static_cast<T>(empty ? C{0} : std::exp(static_cast<C>(a.values[j]) - whole.max) / whole.sum);
      out[i] = b;
    }
  }
}

/// dx = y (dy - sum(dy y)), one block a row at a time. Shared memory: 32 C.
template <class T, int Width>
static __global__ void softmax_backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols, bool add) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  const std::int64_t packs = cols / Width;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const d_out = reinterpret_cast<const P*>(dy + row * cols);  // [packs]
    const P* const out = reinterpret_cast<const P*>(y + row * cols);     // [packs]
    P* const d_in = reinterpret_cast<P*>(dx + row * cols);               // [packs]
    C sum = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P d = d_out[i], a = out[i];
      for (int j = 0; j < Width; ++j) sum += static_cast<C>(d.values[j]) * static_cast<C>(a.values[j]);
    }
    const C dot = block_sum(sum, scratch);
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P d = d_out[i], a = out[i];
      P b = add ? d_in[i] : P{};
      for (int j = 0; j < Width; ++j) reference::store(b.values[j], static_cast<C>(a.values[j]) * (static_cast<C>(d.values[j]) - dot), add);
      d_in[i] = b;
    }
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// y = exp(x) / sum exp(x) over each row of x [rows, cols]; y may be x. A row of -inf gives zeros, one with NaN gives NaN.
template <class T>
void softmax_forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
  const bool wide = device::accessible_wide<T>(cols, x, y);
  const auto kernel = wide ? device::softmax_forward<T, device::full_width<T>> : device::softmax_forward<T, 1>;
  device::launch_rows<T>(kernel, {rows, cols, wide}, x, y, rows, cols);
}

/// dx = y (dy - sum(dy y)) over each row; y is what forward wrote.
template <class T>
void softmax_backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols, bool add) {
  const bool wide = device::accessible_wide<T>(cols, dy, y, dx);
  const auto kernel = wide ? device::softmax_backward<T, device::full_width<T>> : device::softmax_backward<T, 1>;
  device::launch_rows<T>(kernel, {rows, cols, wide}, dy, y, dx, rows, cols, add);
}

}  // namespace llm::cuda
