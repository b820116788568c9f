// The CUDA backend: kernels on device pointers, on the default stream. Include it in .cu files.
#pragma once

#include <cstdint>

#include <llm/backend/cuda/activation.cuh>
#include <llm/backend/cuda/cross_entropy.cuh>
#include <llm/backend/cuda/elementwise.cuh>
#include <llm/backend/cuda/embedding.cuh>
#include <llm/backend/cuda/indices.cuh>
#include <llm/backend/cuda/layer_norm.cuh>
#include <llm/backend/cuda/memory.hpp>
#include <llm/backend/cuda/optimizer.cuh>
#include <llm/backend/cuda/reduce.cuh>
#include <llm/backend/cuda/rms_norm.cuh>
#include <llm/backend/cuda/rope.cuh>
#include <llm/backend/cuda/softmax.cuh>
#include <llm/core/dtype.hpp>

namespace llm {

/// Kernels for NVIDIA GPUs, with the signatures of backend_for<Cuda, T>; T is float, double or bf16. What is here of that list: fill,
/// copy, convert, add, accumulate, scale, RMSNorm, LayerNorm, rotary embedding, the activations, softmax and
/// cross-entropy, the embedding, the checks of indices, sums and AdamW. Results do not depend on the device.
/// Calls throw CudaError and return before the device is done; copies through `memory` wait for it.
struct Cuda {
  using memory = CudaMemory;
  static constexpr const char* name = "cuda";

  // nvcc 13.0 translates a call of these wrongly outside templates once a concept has named the same specialisation; ops call them inside.
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
  template <class T> static constexpr auto rms_norm_forward = cuda::rms_norm_forward<T>;
  template <class T> static constexpr auto rms_norm_backward = cuda::rms_norm_backward<T>;
  template <class T> static constexpr auto layer_norm_forward = cuda::layer_norm_forward<T>;
  template <class T> static constexpr auto layer_norm_backward = cuda::layer_norm_backward<T>;
  template <class T> static constexpr auto softmax_forward = cuda::softmax_forward<T>;
  template <class T> static constexpr auto softmax_backward = cuda::softmax_backward<T>;
  template <class T> static constexpr auto sum = cuda::sum<T>;
  template <class T> static constexpr auto sum_of_squares = cuda::sum_of_squares<T>;
  template <class T> static constexpr auto adamw = cuda::adamw<T>;
  // clang-format on

  // The type of the indices comes from the arguments.
  template <class T, class Index>
  static void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
    cuda::embedding_forward<T>(ids, table, y, n, D);
  }
  template <class T, class Index>
  static void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t V, std::int64_t D) {
    cuda::embedding_backward<T>(ids, dy, dtable, n, V, D);
  }
  template <class Index>
  static std::int64_t index_outside(const Index* ids, std::int64_t n, std::int64_t V) {
    return cuda::index_outside(ids, n, V);
  }
  template <class Index>
  static std::int64_t count_targets(const Index* targets, std::int64_t n, std::int64_t V, std::int64_t ignore) {
    return cuda::count_targets(targets, n, V, ignore);
  }
  template <class T, class Index>
  static void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse, std::int64_t rows,
                                    std::int64_t V, std::int64_t ignore) {
    cuda::cross_entropy_forward<T>(logits, targets, losses, lse, rows, V, ignore);
  }
  template <class T, class Index>
  static void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double factor, T* dlogits,
                                     std::int64_t rows, std::int64_t V, std::int64_t ignore) {
    cuda::cross_entropy_backward<T>(logits, targets, lse, factor, dlogits, rows, V, ignore);
  }
};

}  // namespace llm
