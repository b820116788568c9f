// The linear layer and its gradients: products for many rows, dot products at memory speed for few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/product.hpp>
#include <llm/backend/cpu/rows.hpp>
#include <llm/core/quant.hpp>

namespace llm::cpu {

/// Up to this many rows a product reads its weights once and computes one dot product for each result (a decode step).
inline constexpr std::int64_t few_rows = 8;

/// f(kernels, x in float, first output, outputs) for each block of outputs.
template <class T, class F>
void for_outputs(std::int64_t M, std::int64_t N, std::int64_t K, const T* x, const F& f) {
  constexpr std::int64_t some = 32;
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

template <class T>
void linear_forward(const T* x, const T* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  if constexpr (!std::is_same_v<T, double>)
    if (M <= few_rows) return few_rows_forward(x, w, bias, y, M, N, K);
  product(M, N, K, dense(x, K), MatrixColumns<T>{dense(w, K).transposed()}, Output<T>{y, N, bias, false});
}

template <class T>
void linear_backward_input(const T* dy, const T* w, T* dx, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
  product(M, K, N, dense(dy, N), MatrixColumns<T>{dense(w, K)}, Output<T>{dx, K, nullptr, add});
}

template <class T>
void linear_backward_weight(const T* dy, const T* x, T* dw, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
  product(N, K, M, dense(dy, N).transposed(), MatrixColumns<T>{dense(x, K)}, Output<T>{dw, K, nullptr, add});
}

template <class T>
void linear_backward_bias(const T* dy, T* db, std::int64_t M, std::int64_t N, bool add) {
  if constexpr (std::is_same_v<T, double>)
    reference::linear_backward_bias(dy, db, M, N, add);
  else
    column_sums(dy, M, N, db, add);
}

/// Decodes one row of stored weights.
inline void decode_row(DType format, const std::byte* row, float* out, std::int64_t K) {
  if (format != DType::q8_0 && format != DType::bf16) return dequantize_row(format, row, out, K);
  with_vectors([&](auto kernels) {
    using Weights = typename decltype(kernels)::QuantizedWeights;
    if (format == DType::bf16)
      kernels.template widen<bf16>(reinterpret_cast<const bf16*>(row), out, K);
    else
      kernels.decode_row(Weights{row, 0}, out, K);
  });
}

/// Rows of stored weights as the columns of a right operand: decoded when they are asked for.
struct StoredColumns {
  DType format;
  const std::byte* rows;
  std::int64_t row_bytes, K;

  Matrix<float> columns(std::int64_t first, std::int64_t count) const {
    float* decoded = workspace<float>(Slot::rows, count * K);
    for (std::int64_t i = 0; i < count; ++i) decode_row(format, rows + (first + i) * row_bytes, decoded + i * K, K);
    return dense<float>(decoded, K).transposed();
  }
};

template <class T>
void few_rows_forward_stored(const T* x, const StoredColumns& w, const T* bias, T* y, std::int64_t M, std::int64_t N) {
  for_outputs(M, N, w.K, x, [&](auto kernels, const float* wide, std::int64_t n, std::int64_t count) {
    const T* some_bias = bias == nullptr ? nullptr : bias + n;
    if (w.format == DType::q8_0) {
      using Weights = typename decltype(kernels)::QuantizedWeights;
      kernels.dot_rows(M, count, w.K, wide, w.K, Weights{w.rows + n * w.row_bytes, w.row_bytes}, some_bias, y + n, N);
    } else {
      using Weights = typename decltype(kernels)::template Weights<float>;
      kernels.dot_rows(M, count, w.K, wide, w.K, Weights{w.columns(n, count).data, w.K}, some_bias, y + n, N);
    }
  });
}

template <class T>
void linear_forward_stored(const T* x, DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  if constexpr (std::is_same_v<T, double>) {
    reference::linear_forward_stored(x, format, w, bias, y, M, N, K);
  } else {
    const StoredColumns stored{format, static_cast<const std::byte*>(w), storage_bytes(format, K), K};
    const auto* floats = static_cast<const float*>(w);
    if (format == DType::f32 && M > few_rows)
      return product(M, N, K, dense(x, K), MatrixColumns<float>{dense(floats, K).transposed()}, Output<T>{y, N, bias, false});
    if (format == DType::f32) return few_rows_forward(x, floats, bias, y, M, N, K);
    if (format == DType::bf16 && M <= few_rows) return few_rows_forward(x, static_cast<const bf16*>(w), bias, y, M, N, K);
    if (M <= few_rows) return few_rows_forward_stored(x, stored, bias, y, M, N);
    product(M, N, K, dense(x, K), stored, Output<T>{y, N, bias, false});
  }
}

}  // namespace llm::cpu
