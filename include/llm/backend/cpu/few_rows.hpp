// Products with few rows, as in a decode step: their time is that of reading the weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/stored.hpp>
#include <llm/backend/cpu/tile.hpp>

namespace llm::cpu {

/// Up to this many rows a product reads its weights once and computes one dot product for each result (a decode step).
inline constexpr std::int64_t few_rows = 8;

/// f(kernels, x in float, first output, outputs) for each block of outputs.
template <class T, class F>
void for_outputs(std::int64_t M, std::int64_t N, std::int64_t K, const T* x, const F& f) {
  constexpr std::int64_t some = 24;
  const Matrix<float> wide = widened(dense(x, K), M, K, Slot::shared);
  parallel_blocks(N, some, K / 4, [&](std::int64_t begin, std::int64_t end) {
    with_vectors([&](auto kernels) { f(kernels, wide.data, begin, end - begin); });
  });
}

/// y[M,N] = x[M,K] w[N,K]^T + bias[N] for few rows and w of type W.
template <class W, class T>
void few_rows_forward(const T* x, const W* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  for_outputs(M, N, K, x, [&](auto kernels, const float* wide, std::int64_t n, std::int64_t count) {
    using Weights = typename decltype(kernels)::template Weights<W>;
    kernels.dot_rows(M, count, K, wide, K, Weights{w + n * K, K}, bias == nullptr ? nullptr : bias + n, y + n, N);
  });
}

/// The same for w in a storage format.
template <class T>
void few_rows_forward_stored(const T* x, const StoredColumns<float>& w, const T* bias, T* y, std::int64_t M, std::int64_t N) {
  if (w.format == DType::f32) return few_rows_forward(x, reinterpret_cast<const float*>(w.rows), bias, y, M, N, w.K);
  if (w.format == DType::bf16) return few_rows_forward(x, reinterpret_cast<const bf16*>(w.rows), bias, y, M, N, w.K);
  if (w.format == DType::f16) return few_rows_forward(x, reinterpret_cast<const f16*>(w.rows), bias, y, M, N, w.K);
  for_outputs(M, N, w.K, x, [&](auto kernels, const float* wide, std::int64_t n, std::int64_t count) {
    const T* some_bias = bias == nullptr ? nullptr : bias + n;
    using Weights = typename decltype(kernels)::template Weights<float>;
    kernels.dot_rows(M, count, w.K, wide, w.K, Weights{w.block(0, w.K, n, count).data, w.K}, some_bias, y + n, N);
  });
}

}  // namespace llm::cpu
