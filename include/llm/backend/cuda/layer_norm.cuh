// Kernels of LayerNorm, forward and backward, and the functions that start them. The sums do not depend on the device or on the order in
// which blocks run.
//
// Rows are [rows, cols] dense; C is compute_t<T>. Width elements are accessed at a time and cols % Width == 0.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// y = (x - mean) * inv_std * gain + bias with inv_std = 1 / sqrt(mean((x - mean)^2) + eps), one block a row at a time. mean and inv_std
/// [rows] may be null. Shared memory: 32 C. Source: arXiv:1607.06450.
template <class T, int Width>
static __global__ void layer_norm_forward(const T* x, const T* gain, const T* bias, T* y, compute_t<T>* mean, compute_t<T>* inv_std,
                                          std::int64_t rows, std::int64_t cols, compute_t<T> eps) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  const P* const gains = reinterpret_cast<const P*>(gain);
  const P* const biases = reinterpret_cast<const P*>(bias);
  const std::int64_t packs = cols / Width;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(x + row * cols);  // [packs]
    P* const out = reinterpret_cast<P*>(y + row * cols);             // [packs]
    C sum = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i];
      for (int j = 0; j < Width; ++j) sum += static_cast<C>(a.values[j]);
    }
    const C average = block_sum(sum, scratch) / static_cast<C>(cols);
    C squares = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i];
      for (int j = 0; j < Width; ++j) {
        const C difference = static_cast<C>(a.values[j]) - average;
        squares += difference * difference;
      }
    }
    const C inverse = C{1} / std::sqrt(block_sum(squares, scratch) / static_cast<C>(cols) + eps);
    if (threadIdx.x == 0 && mean != nullptr) mean[row] = average;
    if (threadIdx.x == 0 && inv_std != nullptr) inv_std[row] = inverse;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], g = gains[i], shift = biases[i];
      P b;
      for (int j = 0; j < Width; ++j)
        b.values[j] = static_cast<T>((static_cast<C>(a.values[j]) - average) * inverse * static_cast<C>(g.values[j]) +
                                     static_cast<C>(shift.values[j]));
      out[i] = b;
    }
  }
}

/// With n = (x - mean) * inv_std and g = dy * gain: dx = inv_std * (g - mean(g) - n * mean(g n)), and into gain_parts and bias_parts
/// [blocks, cols] each block's sums of dy * n and of dy over its rows. Shared memory: 32 C, and 2 cols C more when sums_in_shared; without
/// it the sums are made in the parts themselves.
template <class T, int Width>
static __global__ void layer_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* mean, const compute_t<T>* inv_std,
                                           T* dx, compute_t<T>* gain_parts, compute_t<T>* bias_parts, std::int64_t rows, std::int64_t cols,
                                           bool add_dx, bool sums_in_shared) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  C* const gain_part = gain_parts + blockIdx.x * cols;
  C* const bias_part = bias_parts + blockIdx.x * cols;
  C* const gain_sums = sums_in_shared ? scratch + 32 : gain_part;  // [cols]; a thread has its own columns
  C* const bias_sums = sums_in_shared ? scratch + 32 + cols : bias_part;
  const P* const gains = reinterpret_cast<const P*>(gain);
  const std::int64_t packs = cols / Width;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x)
    for (int j = 0; j < Width; ++j) gain_sums[i * Width + j] = bias_sums[i * Width + j] = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(x + row * cols);      // [packs]
    const P* const d_out = reinterpret_cast<const P*>(dy + row * cols);  // [packs]
    P* const d_in = reinterpret_cast<P*>(dx + row * cols);               // [packs]
    const C average = mean[row], inverse = inv_std[row];
    C sum = 0, dot = 0;
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], d = d_out[i], factor = gains[i];
      for (int j = 0; j < Width; ++j) {
        const C g = static_cast<C>(d.values[j]) * static_cast<C>(factor.values[j]);
        sum += g;
        dot += g * ((static_cast<C>(a.values[j]) - average) * inverse);
      }
    }
    const C mean_g = block_sum(sum, scratch) / static_cast<C>(cols), mean_gn = block_sum(dot, scratch) / static_cast<C>(cols);
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      const P a = in[i], d = d_out[i], factor = gains[i];
      P b = add_dx ? d_in[i] : P{};
      for (int j = 0; j < Width; ++j) {
        const C slope = static_cast<C>(d.values[j]), n = (static_cast<C>(a.values[j]) - average) * inverse;
        reference::store(b.values[j], inverse * (slope * static_cast<C>(factor.values[j]) - mean_g - n * mean_gn), add_dx);
        gain_sums[i * Width + j] += slope * n;
        bias_sums[i * Width + j] += slope;
      }
      d_in[i] = b;
    }
  }
  if (!sums_in_shared) return;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x)
    for (int j = 0; j < Width; ++j) {
      gain_part[i * Width + j] = gain_sums[i * Width + j];
      bias_part[i * Width + j] = bias_sums[i * Width + j];
    }
}

}  // namespace llm::device

namespace llm::cuda {

/// x [rows, cols], gain, bias [cols] -> y [rows, cols], mean and inv_std [rows] (may be null).
template <class T>
void layer_norm_forward(const T* x, const T* gain, const T* bias, T* y, compute_t<T>* mean, compute_t<T>* inv_std, std::int64_t rows,
                        std::int64_t cols, double eps) {
  const bool wide = device::accessible_wide<T>(cols, x, gain, bias, y);
  const auto kernel = wide ? device::layer_norm_forward<T, device::full_width<T>> : device::layer_norm_forward<T, 1>;
  device::launch_rows<T>(kernel, {rows, cols, wide}, x, gain, bias, y, mean, inv_std, rows, cols, static_cast<compute_t<T>>(eps));
}

/// dy, x [rows, cols], gain [cols], mean, inv_std [rows] -> dx [rows, cols], which may be dy, and dgain, dbias [cols].
template <class T>
void layer_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* mean, const compute_t<T>* inv_std, T* dx,
                         compute_t<T>* dgain, compute_t<T>* dbias, std::int64_t rows, std::int64_t cols, bool add_dx, bool add_parameters) {
  const bool wide = device::accessible_wide<T>(cols, dy, x, gain, dx);
  const device::PartialSums<compute_t<T>> sums(2, {rows, cols, wide});
  const auto kernel = wide ? device::layer_norm_backward<T, device::full_width<T>> : device::layer_norm_backward<T, 1>;
  sums.template launch_parts<T>(kernel, dy, x, gain, mean, inv_std, dx, sums.data(0), sums.data(1), rows, cols, add_dx, sums.in_shared());
  sums.total(0, dgain, add_parameters);
  sums.total(1, dbias, add_parameters);
}

}  // namespace llm::cuda
