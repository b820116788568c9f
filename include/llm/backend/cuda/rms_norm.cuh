// Kernels of RMSNorm, forward and backward, and the functions that start them. The sums do not depend on the device or on the order in
// which blocks run.
//
// Rows are [rows, cols] dense; C is compute_t<T>. Width elements are accessed at a time and cols % Width == 0.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// y = x * inv_rms * gain with inv_rms = 1 / sqrt(mean(x^2) + eps), one block a row at a time. inv_rms [rows] may be null.
/// Shared memory: 32 C. Source: arXiv:1910.07467 eq. 4.
template <class T, int Width>
static __global__ void rms_norm_forward(const T* x, const T* gain, T* y, compute_t<T>* inv_rms, std::int64_t rows, std::int64_t cols,
                                        compute_t<T> eps, Rounding rounding) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  const P* const gains = reinterpret_cast<const P*>(gain);
  const std::int64_t packs = cols / Width;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(x + row * cols);  // [packs]
    P* const out = reinterpret_cast<P*>(y + row * cols);             // [packs]
    C sum = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i];
      for (int j = 0; j < Width; ++j) sum += static_cast<C>(a.values[j]) * static_cast<C>(a.values[j]);
    }
    const C inverse = C{1} / std::sqrt(block_sum(sum, scratch) / static_cast<C>(cols) + eps);
    if (threadIdx.x == 0 && inv_rms != nullptr) inv_rms[row] = inverse;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], g = gains[i];
      P b;
      for (int j = 0; j < Width; ++j) {
        const C n = static_cast<C>(a.values[j]) * inverse;
        const C rounded = rounding == Rounding::round_then_gain ? static_cast<C>(static_cast<T>(n)) : n;
        b.values[j] = static_cast<T>(rounded * static_cast<C>(g.values[j]));
      }
      out[i] = b;
    }
  }
}

/// With n = x * inv_rms: dx = inv_rms * (dy * gain - n * mean(dy * gain * n)), and into partial [blocks, cols] each block's sum of dy * n
/// over its rows. Shared memory: 32 C, and cols C more when sums_in_shared; without it the sums are made in partial itself.
template <class T, int Width>
static __global__ void rms_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* inv_rms, T* dx, compute_t<T>* partial,
                                         std::int64_t rows, std::int64_t cols, bool add_dx, bool sums_in_shared) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  C* const share = partial + blockIdx.x * cols;
  C* const sums = sums_in_shared ? scratch + 32 : share;  // [cols]; a thread has its own columns
  const P* const gains = reinterpret_cast<const P*>(gain);
  const std::int64_t packs = cols / Width;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x)
    for (int j = 0; j < Width; ++j) sums[i * Width + j] = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(x + row * cols);      // [packs]
    const P* const d_out = reinterpret_cast<const P*>(dy + row * cols);  // [packs]
    P* const d_in = reinterpret_cast<P*>(dx + row * cols);               // [packs]
    const C inverse = inv_rms[row];
    C dot = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], d = d_out[i], g = gains[i];
      for (int j = 0; j < Width; ++j)
        dot += static_cast<C>(d.values[j]) * static_cast<C>(g.values[j]) * (static_cast<C>(a.values[j]) * inverse);
    }
    const C mean = block_sum(dot, scratch) / static_cast<C>(cols);
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], d = d_out[i], g = gains[i];
      P b = add_dx ? d_in[i] : P{};
      for (int j = 0; j < Width; ++j) {
        const C n = static_cast<C>(a.values[j]) * inverse;
        const C slope = inverse * (static_cast<C>(d.values[j]) * static_cast<C>(g.values[j]) - n * mean);
        reference::store(b.values[j], slope, add_dx);
        sums[i * Width + j] += static_cast<C>(d.values[j]) * n;
      }
      d_in[i] = b;
    }
  }
  if (!sums_in_shared) return;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x)
    for (int j = 0; j < Width; ++j) share[i * Width + j] = sums[i * Width + j];
}

}  // namespace llm::device

namespace llm::cuda {

/// x [rows, cols], gain [cols] -> y [rows, cols], inv_rms [rows] (may be null).
template <class T>
void rms_norm_forward(const T* x, const T* gain, T* y, compute_t<T>* inv_rms, std::int64_t rows, std::int64_t cols, double eps,
                      Rounding rounding) {
  const bool wide = device::accessible_wide<T>(cols, x, gain, y);
  const auto kernel = wide ? device::rms_norm_forward<T, device::full_width<T>> : device::rms_norm_forward<T, 1>;
  device::launch_rows<T>(kernel, {rows, cols, wide}, x, gain, y, inv_rms, rows, cols, static_cast<compute_t<T>>(eps), rounding);
}

/// dy, x [rows, cols], gain [cols], inv_rms [rows] -> dx [rows, cols], which may be dy, and dgain [cols].
template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* inv_rms, T* dx, compute_t<T>* dgain, std::int64_t rows,
                       std::int64_t cols, bool add_dx, bool add_dgain) {
  const bool wide = device::accessible_wide<T>(cols, dy, x, gain, dx);
  const device::PartialSums<compute_t<T>> sums(1, {rows, cols, wide});
  const auto kernel = wide ? device::rms_norm_backward<T, device::full_width<T>> : device::rms_norm_backward<T, 1>;
  sums.template launch_parts<T>(kernel, dy, x, gain, inv_rms, dx, sums.data(0), rows, cols, add_dx, sums.in_shared());
  sums.total(0, dgain, add_dgain);
}

}  // namespace llm::cuda
