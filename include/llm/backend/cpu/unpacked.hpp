// The CPU backend's layout of stored weights taken apart: rows as they stand in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/backend/cpu/packed.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/quant_join.hpp>

namespace llm::cpu {

/// Rows [first, first + count) of packed weights [.., K] in a file's layout: the bytes that pack_rows was given. A template (Bytes is
/// std::byte), like pack_rows.
template <class Bytes>
void unpack_rows(DType format, const std::byte* packed, std::int64_t first, std::int64_t count, std::int64_t K, Bytes* rows) {
  const std::int64_t row_bytes = storage_bytes(format, K);
  const bool blocks = detail::with_codes(format, [&](auto codes) {
    using Codes = decltype(codes);
    const auto& bits = detail::CodeBits<Codes>::of_format();
    std::memset(rows, 0, static_cast<std::size_t>(count * row_bytes));
    Byte* block = reinterpret_cast<Byte*>(rows);
    for (std::int64_t row = first; row < first + count; ++row) {
      const Byte* const panel = reinterpret_cast<const Byte*>(packed) + row / panel_rows * Packed<Codes>::panel_bytes(K);
      for (std::int64_t b = 0; b < K / Codes::elements; ++b, block += Codes::bytes) {
        Byte code[Codes::elements];
        unpack_block<Codes>(panel, K, b, static_cast<int>(row % panel_rows), block, code);
        bits.join(code, block);
      }
    }
  });
  if (!blocks && count * K > 0) std::memcpy(rows, packed + first * row_bytes, static_cast<std::size_t>(count * row_bytes));
}

}  // namespace llm::cpu
