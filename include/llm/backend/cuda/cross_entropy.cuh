// Kernels of cross-entropy, forward and backward, and the functions that start them. Results do not depend on the device.
//
// Logits are [rows, V] dense; C is compute_t<T>. Width elements are accessed at a time and V % Width == 0.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/cuda/softmax.cuh>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// lse = log sum exp(logits), loss = lse - logits[target], 0 where the target is `ignore`; one block a row at a time.
/// Shared memory: 32 C.
template <class T, int Width, class Index>
static __global__ void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse,
                                             std::int64_t rows, std::int64_t V, std::int64_t ignore) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  C* const scratch = dynamic_shared<C>();
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const of_row = logits + row * V;  // [V]
    const C log_sum = max_and_sum_of_row<T, Width>(reinterpret_cast<const P*>(of_row), V / Width, scratch).log_sum_exp();
    if (threadIdx.x != 0) continue;
    lse[row] = log_sum;
    losses[row] = targets[row] == ignore ? C{0} : log_sum - static_cast<C>(of_row[targets[row]]);
  }
}

/// dlogits = (exp(logits - lse) - one_hot(target)) * scale, 0 in ignored rows; one block a row at a time. dlogits may be the logits.
template <class T, int Width, class Index>
static __global__ void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, compute_t<T> scale,
                                              T* dlogits, std::int64_t rows, std::int64_t V, std::int64_t ignore) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(logits + row * V);  // [V / Width]
    P* const out = reinterpret_cast<P*>(dlogits + row * V);            // [V / Width]
    const std::int64_t target = targets[row];
    const bool ignored = target == ignore;
    const C log_sum = lse[row];
    for (std::int64_t i = threadIdx.x; i < V / Width; i += blockDim.x) {
      const P a = in[i];
      P b;
      for (int j = 0; j < Width; ++j) {
        const C probability = std::exp(static_cast<C>(a.values[j]) - log_sum);
        const C gradient = (i * Width + j == target ? probability - C{1} : probability) * scale;
        b.values[j] = static_cast<T>(ignored ? C{0} : gradient);
      }
      out[i] = b;
    }
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// losses[r] = lse[r] - logits[r, targets[r]], 0 where targets[r] == ignore; lse[r] = log sum exp of row r of logits [rows, V].
template <class T, class Index>
void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse, std::int64_t rows,
                           std::int64_t V, std::int64_t ignore) {
  const bool wide = device::accessible_wide<T>(V, logits);
  const auto kernel = wide ? device::cross_entropy_forward<T, device::full_width<T>, Index> : device::cross_entropy_forward<T, 1, Index>;
  device::launch_rows<T>(kernel, {rows, V, wide}, logits, targets, losses, lse, rows, V, ignore);
}

/// dlogits = (exp(logits - lse) - one_hot(target)) * scale, 0 in ignored rows; dlogits [rows, V] may be the logits. Overwrites.
template <class T, class Index>
void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double scale, T* dlogits, std::int64_t rows,
                            std::int64_t V, std::int64_t ignore) {
  const bool wide = device::accessible_wide<T>(V, logits, dlogits);
  const auto kernel = wide ? device::cross_entropy_backward<T, device::full_width<T>, Index> : device::cross_entropy_backward<T, 1, Index>;
  device::launch_rows<T>(kernel, {rows, V, wide}, logits, targets, lse, static_cast<compute_t<T>>(scale), dlogits, rows, V, ignore);
}

}  // namespace llm::cuda
