// Rows of a table by index, the gradient of the table, and the check of the indices. Index is int32_t or int64_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/quant.hpp>

namespace llm::reference {

/// y[n,D] = rows of table[V,D]: row i of y is row ids[i].
template <class T, class Index>
void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t d = 0; d < D; ++d) y[i * D + d] = table[ids[i] * D + d];
}

/// The same with the table in a storage format: rows of D elements, whole blocks, one behind the other. T is float or double.
template <class T, class Index>
void embedding_forward_stored(const Index* ids, DType format, const void* table, T* y, std::int64_t n, std::int64_t D) {
  const std::int64_t row_bytes = storage_bytes(format, D);
  for (std::int64_t i = 0; i < n; ++i) dequantize_row(format, static_cast<const std::byte*>(table) + ids[i] * row_bytes, y + i * D, D);
}

/// dtable[V,D] += dy[n,D]: row i of dy is added to row ids[i], in the order of i. Always adds.
template <class T, class Index>
void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t /*V*/, std::int64_t D) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t d = 0; d < D; ++d) dtable[ids[i] * D + d] += compute_t<T>(dy[i * D + d]);
}

/// The position of the first id that is not in [0, V), or -1.
template <class Index>
std::int64_t index_outside(const Index* ids, std::int64_t n, std::int64_t V) {
  for (std::int64_t i = 0; i < n; ++i)
    if (ids[i] < 0 || ids[i] >= V) return i;
  return -1;
}

}  // namespace llm::reference
