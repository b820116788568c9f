// Weights in a storage format: a right operand whose columns are decoded as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/quant.hpp>

namespace llm::cpu {

/// Decodes one row of stored weights.
inline void decode_row(DType format, const std::byte* row, float* out, std::int64_t K) {
  if (format != DType::q8_0 && format != DType::bf16 && format != DType::f16) return dequantize_row(format, row, out, K);
  with_vectors([&](auto kernels) {
    using Weights = typename decltype(kernels)::QuantizedWeights;
    if (format == DType::bf16)
      kernels.template widen<bf16>(reinterpret_cast<const bf16*>(row), out, K);
    else if (format == DType::f16)
      kernels.template widen<f16>(reinterpret_cast<const f16*>(row), out, K);
    else
      kernels.decode_row(Weights{row, 0}, out, K);
  });
}

/// Rows of stored weights as the columns of a right operand: decoded when they are asked for.
struct StoredColumns {
  DType format;
  const std::byte* rows;
  std::int64_t row_bytes, K;

  /// Rows [k, k + depth) of columns [col, col + cols); k is a multiple of block_depth(), so that no block of a format is cut.
  Matrix<float> block(std::int64_t k, std::int64_t depth, std::int64_t col, std::int64_t cols) const {
    float* decoded = workspace<float>(Slot::rows, cols * depth);
    const std::int64_t skip = storage_bytes(format, k);
    for (std::int64_t i = 0; i < cols; ++i) decode_row(format, rows + (col + i) * row_bytes + skip, decoded + i * depth, depth);
    return dense<float>(decoded, depth).transposed();
  }
  std::int64_t block_depth() const { return block_format(format).elements; }
  static bool rows_near() { return false; }
  Ahead ahead(std::int64_t k, std::int64_t depth, std::int64_t col, std::int64_t cols) const {
    return {rows + col * row_bytes + storage_bytes(format, k), cols, storage_bytes(format, depth), row_bytes};
  }
};

}  // namespace llm::cpu
