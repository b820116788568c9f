// Weights in a storage format: a right operand whose columns are decoded as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/packed.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Packs N rows of K elements in a file's layout (pack_rows) on all threads.
template <class Bytes>
void store_rows(DType format, const Bytes* rows, std::byte* to, std::int64_t N, std::int64_t K) {
  constexpr std::int64_t some = 4 * panel_rows;
  parallel_blocks(N, some, K, [&](std::int64_t begin, std::int64_t end) {
    pack_rows(format, rows + begin * storage_bytes(format, K), to + packed_bytes(format, begin, K), end - begin, K);
  });
}

/// Decodes columns [k, k + n) of a row of stored weights [.., K]; k and n are whole blocks.
template <class Out>
void load_stored_row(DType format, const std::byte* stored, std::int64_t row, std::int64_t K, std::int64_t k, std::int64_t n, Out* out) {
  if (format != DType::bf16 && format != DType::f16) return load_packed_row(format, stored, row, K, k, n, out);
  with_vectors([&](auto kernels) {
    if (format == DType::bf16)
      kernels.template widen<bf16>(reinterpret_cast<const bf16*>(stored) + row * K + k, out, n);
    else
      kernels.template widen<f16>(reinterpret_cast<const f16*>(stored) + row * K + k, out, n);
  });
}

/// Rows of stored weights, as store_rows left them, as the columns of a right operand: decoded when they are asked for. C is float.
template <class C>
struct StoredColumns {
  DType format;
  const std::byte* rows;
  std::int64_t K;

  /// Rows [k, k + depth) of columns [col, col + cols); k is a multiple of block_depth(), so that no block of a format is cut.
  Matrix<C> block(std::int64_t k, std::int64_t depth, std::int64_t col, std::int64_t cols) const {
    C* decoded = workspace<C>(Slot::rows, cols * depth);
    for (std::int64_t i = 0; i < cols; ++i) load_stored_row(format, rows, col + i, K, k, depth, decoded + i * depth);
    return dense<C>(decoded, depth).transposed();
  }
  std::int64_t block_depth() const { return block_format(format).elements; }
  static bool rows_near() { return false; }
  Ahead ahead(std::int64_t k, std::int64_t depth, std::int64_t col, std::int64_t cols) const {
    if (block_depth() > 1) return {};
    const std::int64_t size = block_format(format).bytes;
    return {rows + (col * K + k) * size, cols, depth * size, K * size};
  }
};

}  // namespace llm::cpu
