// Encodes rows of floats in every format that weights are stored in.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant_encode_32.hpp>
#include <llm/core/quant_encode_k.hpp>

namespace llm {

namespace detail::quant {

using EncodeBlock = void (*)(const float* x, std::byte* out);

inline void encode_f32(const float* x, std::byte* out) { std::memcpy(out, x, 4); }
inline void encode_f64(const float* x, std::byte* out) {
  const double value = *x;
  std::memcpy(out, &value, 8);
}
inline void encode_bf16(const float* x, std::byte* out) {
  const bf16 value(*x);
  if (!std::isfinite(static_cast<float>(value))) throw NumericError(concat("llm::quantize_row: ", *x, " is beyond the largest bf16"));
  std::memcpy(out, &value, 2);
}
inline void encode_f16(const float* x, std::byte* out) {
  const f16 value(*x);
  if (!std::isfinite(static_cast<float>(value))) throw NumericError(concat("llm::quantize_row: ", *x, " is beyond 65504, the largest f16"));
  std::memcpy(out, &value, 2);
}

inline EncodeBlock encoder_of(DType format) {
  switch (format) {
    case DType::f64:
      return encode_f64;
    case DType::f32:
      return encode_f32;
    case DType::bf16:
      return encode_bf16;
    case DType::f16:
      return encode_f16;
    case DType::q4_0:
      return encode_q4_0;
    case DType::q4_1:
      return encode_q4_1;
    case DType::q5_0:
      return encode_q5_0;
    case DType::q5_1:
      return encode_q5_1;
    case DType::q8_0:
      return encode_q8_0;
    case DType::q2_k:
      return encode_q2_k;
    case DType::q3_k:
      return encode_q3_k;
    case DType::q4_k:
      return encode_q4_k;
    case DType::q5_k:
      return encode_q5_k;
    case DType::q6_k:
      return encode_q6_k;
    default:
      throw ValueError(concat("llm::quantize_row: ", to_string(format), " is not a format of weights"));
  }
}

}  // namespace detail::quant

/// Encodes n floats as `format`, the inverse of dequantize_row; `row` takes storage_bytes(format, n) bytes at any alignment.
/// f32, f16, bf16, q4_0, q4_1, q5_0, q5_1 and q8_0 come out as GGML's reference quantisers write them, byte for byte; the K formats
/// (q2_k ... q6_k) by a search of our own for the scales and minima with the least squared error.
/// Throws ShapeError when n is not a whole number of blocks, ValueError when `format` holds integers, and NumericError for values that
/// are not finite, or whose scale is beyond f16; blocks before such a value are then written.
inline void quantize_row(DType format, const float* x, void* row, std::int64_t n) {
  storage_bytes(format, n);  // checks n
  const detail::quant::EncodeBlock encode = detail::quant::encoder_of(format);
  const BlockFormat block = block_format(format);
  auto* out = static_cast<std::byte*>(row);
  for (std::int64_t i = 0; i < n; ++i)
    if (!std::isfinite(x[i])) throw NumericError(detail::concat("llm::quantize_row: value ", i, " of ", n, " is ", x[i], ", not finite"));
  for (std::int64_t start = 0; start < n; start += block.elements, out += block.bytes) encode(x + start, out);
}

}  // namespace llm
