// The CUDA backend: kernels on device pointers, on the default stream. Include it in .cu files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/activation.cuh>
#include <llm/backend/cuda/elementwise.cuh>
#include <llm/backend/cuda/memory.hpp>
#include <llm/backend/cuda/rms_norm.cuh>
#include <llm/backend/cuda/rope.cuh>
#include <llm/core/dtype.hpp>
#include <llm/tensor/storage.hpp>

namespace llm {

/// Kernels for NVIDIA GPUs, with the signatures of backend_for<Cuda, T>; T is float, double or bf16. What is here of that list: fill,
/// copy, convert, add, accumulate, scale, RMSNorm, rotary embedding and the activations. Results do not depend on the device. Calls throw
/// CudaError and return before the device is done; copies through `memory` wait for it.
struct Cuda {
  using memory = CudaMemory;
  static constexpr const char* name = "cuda";

  // clang-format off
  template <class T> static constexpr auto fill = cuda::fill<T>;
  template <class T> static constexpr auto copy = cuda::copy<T>;
  template <class To, class From> static constexpr auto convert = cuda::convert<To, From>;
  template <class T> static constexpr auto add = cuda::add<T>;
  template <class T, class X = T> static constexpr auto accumulate = cuda::accumulate<T, X>;
  template <class T> static constexpr auto scale = cuda::scale<T>;
  template <class T> static constexpr auto rope = cuda::rope<T>;
  template <class T> static constexpr auto activation_forward = cuda::activation_forward<T>;
  template <class T> static constexpr auto activation_backward = cuda::activation_backward<T>;
  template <class T> static constexpr auto gated_forward = cuda::gated_forward<T>;
  template <class T> static constexpr auto gated_backward = cuda::gated_backward<T>;
  // clang-format on

  /// x [rows, cols], gain [cols] -> y [rows, cols], inv_rms [rows] (may be null).
  template <class T>
  static void rms_norm_forward(const T* x, const T* gain, T* y, compute_t<T>* inv_rms, std::int64_t rows, std::int64_t cols, double eps,
                               Rounding rounding) {
    if (rows == 0 || cols == 0) return;
    const bool wide = device::accessible_wide<T>(cols, x, gain, y);
    const auto kernel = wide ? device::rms_norm_forward<T, device::full_width<T>> : device::rms_norm_forward<T, 1>;
    device::launch(kernel, blocks_for(rows, most_forward_blocks), threads_for<T>(cols, wide), 32 * sizeof(compute_t<T>), x, gain, y,
                   inv_rms, rows, cols, static_cast<compute_t<T>>(eps), rounding);
  }

  /// dy, x [rows, cols], gain [cols], inv_rms [rows] -> dx [rows, cols], dgain [cols], which is in compute_t<T>.
  template <class T>
  static void rms_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* inv_rms, T* dx, compute_t<T>* dgain,
                                std::int64_t rows, std::int64_t cols, bool add_dx, bool add_dgain) {
    using C = compute_t<T>;
    if (cols == 0) return;
    const unsigned parts = blocks_for(rows, most_partial_rows);
    const auto workspace = detail::Pool<memory>::instance().allocate(std::size_t{parts} * static_cast<std::size_t>(cols) * sizeof(C));
    auto* const partial = static_cast<C*>(workspace->data);  // [parts, cols]
    if (rows > 0) {
      const bool wide = device::accessible_wide<T>(cols, dy, x, gain, dx);
      const auto kernel = wide ? device::rms_norm_backward_rows<T, device::full_width<T>> : device::rms_norm_backward_rows<T, 1>;
      const std::size_t sums_bytes = static_cast<std::size_t>(cols) * sizeof(C);
      const bool in_shared = 32 * sizeof(C) + sums_bytes <= most_shared_bytes;
      device::launch(kernel, parts, threads_for<T>(cols, wide), 32 * sizeof(C) + (in_shared ? sums_bytes : 0), dy, x, gain, inv_rms, dx,
                     partial, rows, cols, add_dx, in_shared);
    }
    device::launch(device::rms_norm_backward_gain<C>, static_cast<unsigned>((cols + 31) / 32), dim3(32, 8), 256 * sizeof(C), partial, dgain,
                   parts, cols, add_dgain);
  }

 private:
  static constexpr std::int64_t most_forward_blocks = 4096;
  static constexpr std::int64_t most_partial_rows = 512;  // fixed, so that dgain is the same on every device
  static constexpr std::size_t most_shared_bytes = 48 * 1024;

  static unsigned blocks_for(std::int64_t rows, std::int64_t most) { return static_cast<unsigned>((std::min)(rows, most)); }

  /// Whole warps for one row, 256 threads at most.
  template <class T>
  static unsigned threads_for(std::int64_t cols, bool wide) {
    const std::int64_t packs = wide ? cols / device::full_width<T> : cols;
    return static_cast<unsigned>((std::min)((packs + 31) / 32 * 32, std::int64_t{256}));
  }
};

}  // namespace llm
