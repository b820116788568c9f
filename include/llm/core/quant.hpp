// Rows of stored weights: decoding every storage format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant_blocks.hpp>

namespace llm {

namespace detail {

template <class Stored, class Out>
void convert_row(const void* row, Out* out, std::int64_t n) {
  const auto* bytes = static_cast<const std::byte*>(row);
  for (std::int64_t i = 0; i < n; ++i) {
    Stored value;
    std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = static_cast<Out>(value);
  }
}

/// A block's values from its codes, and scales out of its header.
template <class Codes, class Out>
void decode_block(const Byte* block, const Byte* code, Out* out) {
  constexpr int groups = Codes::elements / Codes::group;
  float scale[groups], offset[groups];
  Codes::scales(block, scale, offset);
  for (int i = 0; i < Codes::elements; ++i) {
    const float multiple = scale[i / Codes::group] * static_cast<float>(code[i] - Codes::zero);
    if constexpr (Codes::has_offset)
      out[i] = static_cast<Out>(multiple + offset[i / Codes::group]);
    else
      out[i] = static_cast<Out>(multiple);
  }
}

template <class Codes, class Out>
void dequantize_blocks(const void* row, Out* out, std::int64_t n) {
  static_assert(block_format(Codes::format).bytes == Codes::bytes && block_format(Codes::format).elements == Codes::elements);
  const auto* block = static_cast<const Byte*>(row);
  for (std::int64_t start = 0; start < n; start += Codes::elements, block += Codes::bytes) {
    Byte code[Codes::elements];
    Codes::codes(block, code);
    decode_block<Codes>(block, code, out + start);
  }
}

}  // namespace detail

/// Decodes n elements of `row` (any alignment) into out, Out being float or double; block formats need a whole number of blocks. Values of
/// block formats are those of the gguf package, bit for bit in float.
/// Throws ShapeError when n is not that, ValueError when `format` is an integer type.
template <class Out>
void dequantize_row(DType format, const void* row, Out* out, std::int64_t n) {
  storage_bytes(format, n);  // checks n
  switch (format) {
    case DType::f64:
      return detail::convert_row<double>(row, out, n);
    case DType::f32:
      return detail::convert_row<float>(row, out, n);
    case DType::bf16:
      return detail::convert_row<bf16>(row, out, n);
    case DType::f16:
      return detail::convert_row<f16>(row, out, n);
    default:
      if (detail::with_codes(format, [&](auto codes) { detail::dequantize_blocks<decltype(codes)>(row, out, n); })) return;
      throw ValueError(detail::concat("llm::dequantize_row: ", to_string(format), " is not a format that the library computes with"));
  }
}

}  // namespace llm
