// The linear layer y = x w^T + bias, its three gradients, and the product with weights in a storage format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/quant.hpp>

namespace llm::reference {

/// y[M,N] = x[M,K] w[N,K]^T + bias[N]; bias may be null.
template <class T>
void linear_forward(const T* x, const T* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  using C = compute_t<T>;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      C total = 0;
      for (std::int64_t k = 0; k < K; ++k) total += C(x[m * K + k]) * C(w[n * K + k]);
      y[m * N + n] = T(bias == nullptr ? total : total + C(bias[n]));
    }
}

/// dx[M,K] = dy[M,N] w[N,K]
template <class T>
void linear_backward_input(const T* dy, const T* w, T* dx, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
  using C = compute_t<T>;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t k = 0; k < K; ++k) {
      C total = 0;
      for (std::int64_t n = 0; n < N; ++n) total += C(dy[m * N + n]) * C(w[n * K + k]);
      store(dx[m * K + k], total, add);
    }
}

/// dw[N,K] = dy[M,N]^T x[M,K]
template <class T>
void linear_backward_weight(const T* dy, const T* x, compute_t<T>* dw, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
  using C = compute_t<T>;
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t k = 0; k < K; ++k) {
      C total = 0;
      for (std::int64_t m = 0; m < M; ++m) total += C(dy[m * N + n]) * C(x[m * K + k]);
      store(dw[n * K + k], total, add);
    }
}

/// db[N] = the sum of the rows of dy[M,N]
template <class T>
void linear_backward_bias(const T* dy, compute_t<T>* db, std::int64_t M, std::int64_t N, bool add) {
  using C = compute_t<T>;
  for (std::int64_t n = 0; n < N; ++n) {
    C total = 0;
    for (std::int64_t m = 0; m < M; ++m) total += C(dy[m * N + n]);
    store(db[n], total, add);
  }
}

/// linear_forward with w in any storage format: N rows of K elements, whole blocks, one row behind the other without padding.
template <class T>
void linear_forward_stored(const T* x, DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  using C = compute_t<T>;
  const std::int64_t row_bytes = storage_bytes(format, K);
  std::vector<C> row(static_cast<std::size_t>(K));
  for (std::int64_t n = 0; n < N; ++n) {
    dequantize_row(format, static_cast<const std::byte*>(w) + n * row_bytes, row.data(), K);
    for (std::int64_t m = 0; m < M; ++m) {
      C total = 0;
      for (std::int64_t k = 0; k < K; ++k) total += C(x[m * K + k]) * row[static_cast<std::size_t>(k)];
      y[m * N + n] = T(bias == nullptr ? total : total + C(bias[n]));
    }
  }
}

}  // namespace llm::reference
