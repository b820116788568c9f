// Weights in a storage format: a right operand whose columns are decoded as they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>

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

  Matrix<float> columns(std::int64_t first, std::int64_t count) const {
    float* decoded = workspace<float>(Slot::rows, count * K);
    for (std::int64_t i = 0; i < count; ++i) decode_row(format, rows + (first + i) * row_bytes, decoded + i * K, K);
    return dense<float>(decoded, K).transposed();
  }
};

}  // namespace llm::cpu
