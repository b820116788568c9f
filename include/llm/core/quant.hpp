// Rows of stored weights: decoding every storage format, and encoding q8_0.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant_blocks.hpp>

namespace llm {

/// One q8_0 block of GGML: 32 values, each scale * q. It takes 34 bytes in a file, so blocks stand at odd addresses: read them by copy.
struct BlockQ8_0 {
  f16 scale;
  std::int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

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

template <class Codes, class Out>
void dequantize_blocks(const void* row, Out* out, std::int64_t n) {
  static_assert(block_format(Codes::format).bytes == Codes::bytes && block_format(Codes::format).elements == Codes::elements);
  constexpr int groups = Codes::elements / Codes::group;
  const auto* block = static_cast<const Byte*>(row);
  for (std::int64_t start = 0; start < n; start += Codes::elements, block += Codes::bytes) {
    Byte code[Codes::elements];
    float scale[groups], offset[groups];
    Codes::codes(block, code);
    Codes::scales(block, scale, offset);
    for (int i = 0; i < Codes::elements; ++i) {
      const float multiple = scale[i / Codes::group] * static_cast<float>(code[i] - Codes::zero);
      if constexpr (Codes::has_offset)
        out[start + i] = static_cast<Out>(multiple + offset[i / Codes::group]);
      else
        out[start + i] = static_cast<Out>(multiple);
    }
  }
}

/// The scale of a block of 32 values: the largest magnitude over 127. Throws NumericError when it is no finite f16.
inline float scale_q8_0(const float* x) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) {
    if (!std::isfinite(x[i])) throw NumericError(concat("llm::quantize_row_q8_0: value ", i, " of a block is ", x[i], ", not finite"));
    largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  }
  if (!std::isfinite(static_cast<float>(f16(largest / 127.0f))))
    throw NumericError(concat("llm::quantize_row_q8_0: a block holds ", largest, ", its scale exceeds 65504, the largest f16"));
  return largest / 127.0f;
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

/// Encodes n floats as q8_0 blocks: scale = max |x| / 127 rounded to f16, q = x / (max |x| / 127) rounded half away from zero.
/// Throws ShapeError unless n is a whole number of blocks, NumericError on values that are not finite or whose scale exceeds f16.
inline void quantize_row_q8_0(const float* x, void* row, std::int64_t n) {
  storage_bytes(DType::q8_0, n);  // checks n
  auto* bytes = static_cast<std::byte*>(row);
  for (std::int64_t start = 0; start < n; start += 32, bytes += sizeof(BlockQ8_0)) {
    const float scale = detail::scale_q8_0(x + start);
    const float inverse = scale < FLT_MIN ? 0.0f : 1.0f / scale;  // 1 / a subnormal may be inf; its f16 is 0 anyway
    BlockQ8_0 block;
    block.scale = f16(scale);
    for (int i = 0; i < 32; ++i) block.q[i] = static_cast<std::int8_t>(std::round(x[start + i] * inverse));
    std::memcpy(bytes, &block, sizeof(block));
  }
}

}  // namespace llm
