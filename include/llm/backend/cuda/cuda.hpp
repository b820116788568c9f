// The CUDA backend: kernels on device pointers, on the default stream. Include it in .cu files.
#pragma once

#include <llm/backend/cuda/activation.cuh>
#include <llm/backend/cuda/elementwise.cuh>
#include <llm/backend/cuda/layer_norm.cuh>
#include <llm/backend/cuda/memory.hpp>
#include <llm/backend/cuda/rms_norm.cuh>
#include <llm/backend/cuda/rope.cuh>

namespace llm {

/// Kernels for NVIDIA GPUs, with the signatures of backend_for<Cuda, T>; T is float, double or bf16. What is here of that list: fill,
/// copy, convert, add, accumulate, scale, RMSNorm, LayerNorm, rotary embedding and the activations. Results do not depend on the device.
/// Calls throw CudaError and return before the device is done; copies through `memory` wait for it.
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
  template <class T> static constexpr auto rms_norm_forward = cuda::rms_norm_forward<T>;
  template <class T> static constexpr auto rms_norm_backward = cuda::rms_norm_backward<T>;
  template <class T> static constexpr auto layer_norm_forward = cuda::layer_norm_forward<T>;
  template <class T> static constexpr auto layer_norm_backward = cuda::layer_norm_backward<T>;
  // clang-format on
};

}  // namespace llm
