// Products with few rows, as in a decode step: their time is that of reading the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/stored.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Up to this many rows a product reads its weights once and computes one dot product for each result (a decode step).
inline constexpr std::int64_t few_rows = 8;

/// f(kernels, x in float, product, first output, outputs) for each block of outputs of products of the same rows, in one loop.
template <class T, class F>
void for_outputs(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K, const F& f) {
  constexpr std::int64_t some = 24;
  const Matrix<float> wide = widened(dense(x, K), M, K, Slot::shared);
  std::int64_t blocks = 0;
  for (std::int64_t i = 0; i < count; ++i) blocks += ceil_div(products[i].N, some);
  parallel_for(blocks, some * K / 4, [&](std::int64_t block) {
    const StoredProduct<T>* product = products;
    for (; block >= ceil_div(product->N, some); ++product) block -= ceil_div(product->N, some);
    const std::int64_t n = block * some;
    with_vectors([&](auto kernels) { f(kernels, wide.data, *product, n, (std::min)(some, product->N - n)); });
  });
}

/// Rows of weights of type W from output n on.
template <class W, class T>
const W* rows_from(const StoredProduct<T>& product, std::int64_t n, std::int64_t K) {
  const W* const w = static_cast<const W*>(product.w);
  reads_weights(w + n * K, w + product.N * K);
  return w + n * K;
}

/// Outputs [n, n + count) of a product; `w` are their rows of weights.
template <class Kernels, class W, class T>
void some_outputs(Kernels, const float* x, const W* w, const StoredProduct<T>& product, std::int64_t M, std::int64_t K, std::int64_t n,
                  std::int64_t count) {
  Kernels::dot_rows(M, count, K, x, K, typename Kernels::template Weights<W>{w, K}, product.bias == nullptr ? nullptr : product.bias + n,
                    product.y + n, product.N);
}

/// y[M,N] = x[M,K] w[N,K]^T + bias[N] for few rows and w of type W.
template <class W, class T>
void few_rows_forward(const T* x, const W* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  const StoredProduct<T> one{dtype_of<W>, w, bias, y, N};
  for_outputs(x, &one, 1, M, K, [&](auto kernels, const float* wide, const StoredProduct<T>& p, std::int64_t n, std::int64_t some) {
    some_outputs(kernels, wide, rows_from<W>(p, n, K), p, M, K, n, some);
  });
}

/// Products of few rows with weights in storage formats, as store_rows left them.
template <class T>
void few_rows_forward_stored(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
  for_outputs(x, products, count, M, K, [&](auto kernels, const float* wide, const StoredProduct<T>& p, std::int64_t n, std::int64_t some) {
    if (p.format == DType::f32) return some_outputs(kernels, wide, rows_from<float>(p, n, K), p, M, K, n, some);
    if (p.format == DType::bf16) return some_outputs(kernels, wide, rows_from<bf16>(p, n, K), p, M, K, n, some);
    if (p.format == DType::f16) return some_outputs(kernels, wide, rows_from<f16>(p, n, K), p, M, K, n, some);
    const StoredColumns<float> stored{p.format, static_cast<const std::byte*>(p.w), K};
    some_outputs(kernels, wide, stored.block(0, K, n, some).data, p, M, K, n, some);
  });
}

}  // namespace llm::cpu
