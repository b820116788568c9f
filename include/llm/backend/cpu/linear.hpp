// The linear layer and its gradients: products for many rows, dot products at memory speed for few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/few_rows.hpp>
#include <llm/backend/cpu/product.hpp>
#include <llm/backend/cpu/rounded_product.hpp>
#include <llm/backend/cpu/rows.hpp>
#include <llm/backend/cpu/stored.hpp>
#include <llm/core/quant.hpp>

namespace llm::cpu {

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

/// Parts of the M rows that dw[N,K] is added up from. When there are many rows and few results, threads share out the rows, which each then
/// reads alone: what a thread has just written of dy is in its own cache. The parts follow from the shape alone. Eigen's products, whose
/// bits depend on where N is cut, get one part.
inline std::int64_t weight_gradient_parts(std::int64_t M, std::int64_t N, std::int64_t K) {
  constexpr std::int64_t rows_of_part = 512, most_parts = 16;
  return current_isa() != Isa::portable && N * K > 0 && 8 * N * K <= M * (N + K)
             ? (std::clamp)(M / rows_of_part, std::int64_t{1}, most_parts)
             : 1;
}

/// dw from sums over parts of the rows, which are then added up in their order.
template <class T>
void linear_backward_weight_in_parts(const T* dy, const T* x, float* dw, std::int64_t M, std::int64_t N, std::int64_t K, bool add,
                                     std::int64_t parts) {
  float* sums = workspace<float>(Slot::shared, parts * N * K);
  const EvenBlocks rows = EvenBlocks::of(parts, M), slices = EvenBlocks::of((std::min)(ceil_div(num_threads(), parts), N), N);
  parallel_for(parts * slices.count, M * N * K / (parts * slices.count * products_per_work), [&](std::int64_t task) {
    const std::int64_t part = task / slices.count, n = slices.first(task % slices.count), m = rows.first(part);
    product(slices.size(task % slices.count), K, rows.size(part), dense(dy + m * N + n, N).transposed(),
            MatrixColumns<T>{dense(x + m * K, K)}, Output<float>{sums + (part * N + n) * K, K, nullptr, false});
  });
  column_sums(sums, parts, N * K, dw, add);
}

template <class T>
void linear_backward_weight(const T* dy, const T* x, compute_t<T>* dw, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
  if constexpr (!std::is_same_v<T, double>)
    if (const std::int64_t parts = weight_gradient_parts(M, N, K); parts > 1)
      return linear_backward_weight_in_parts(dy, x, dw, M, N, K, add, parts);
  product(N, K, M, dense(dy, N).transposed(), MatrixColumns<T>{dense(x, K)}, Output<compute_t<T>>{dw, K, nullptr, add});
}

template <class T>
void linear_backward_bias(const T* dy, compute_t<T>* db, std::int64_t M, std::int64_t N, bool add) {
  if constexpr (std::is_same_v<T, double>)
    reference::linear_backward_bias(dy, db, M, N, add);
  else
    column_sums(dy, M, N, db, add);
}

/// Whether products with weights of this format round their activations.
inline bool rounds_activations(DType format) { return block_format(format).elements > 1 && !f32_activations(); }

/// linear_forward with w in a storage format, as store_rows left it.
template <class T>
void linear_forward_stored(const T* x, DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
  if constexpr (std::is_same_v<T, double>) {
    double* row = workspace<double>(Slot::rows, K);
    for (std::int64_t n = 0; n < N; ++n) {
      load_packed_row(format, static_cast<const std::byte*>(w), n, K, 0, K, row);
      for (std::int64_t m = 0; m < M; ++m)
        reference::linear_forward(x + m * K, row, bias == nullptr ? nullptr : bias + n, y + m * N + n, 1, 1, K);
    }
  } else {
    const StoredProduct<T> one{format, w, bias, y, N};
    if (rounds_activations(format)) return rounded_products(x, &one, 1, M, K);
    if (M <= few_rows) return few_rows_forward_stored(x, &one, 1, M, K);
    const StoredColumns<float> stored{format, static_cast<const std::byte*>(w), K};
    if (format == DType::f32)
      return product(M, N, K, dense(x, K), MatrixColumns<float>{dense(static_cast<const float*>(w), K).transposed()},
                     Output<T>{y, N, bias, false});
    if constexpr (std::is_same_v<T, bf16>)
      if (format == DType::bf16) return linear_forward(x, static_cast<const bf16*>(w), bias, y, M, N, K);
    product(M, N, K, dense(x, K), stored, Output<T>{y, N, bias, false});
  }
}

/// Several of the same rows.
template <class T>
void linear_forward_stored(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
  const StoredProduct<T>* const end = products + count;
  if constexpr (!std::is_same_v<T, double>) {
    const auto rounded = std::count_if(products, end, [](const StoredProduct<T>& p) { return rounds_activations(p.format); });
    if (rounded == count) return rounded_products(x, products, count, M, K);
    if (rounded == 0 && M <= few_rows) return few_rows_forward_stored(x, products, count, M, K);
  }
  for (const StoredProduct<T>* p = products; p != end; ++p) linear_forward_stored(x, p->format, p->w, p->bias, p->y, M, p->N, K);
}

}  // namespace llm::cpu
