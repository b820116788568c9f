// Encodes the formats with blocks of 32 values, with the bytes of GGML's reference quantisers.
// Source: the meaning of the formats in github.com/ggml-org/ggml, and the Python package gguf (quants.py), which computes as here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant_search.hpp>
#include <llm/detail/platform.hpp>

namespace llm::detail::quant {

/// A scale as the format stores it. Throws NumericError when it is no finite f16.
inline f16 stored_scale(DType format, float scale) {
  const f16 stored(scale);
  if (!std::isfinite(static_cast<float>(stored)))
    throw NumericError(
        concat("llm::quantize_row: a block of ", to_string(format), " needs the scale ", scale, ", beyond 65504, the largest f16"));
  return stored;
}

/// Puts the low four bits of value i and value i + 16 in one byte.
inline void pack_nibbles(const std::uint8_t* q, std::byte* out) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<std::byte>((q[i] & 15) | (q[i + 16] & 15) << 4);
}

/// The fifth bits of 32 values, value i in bit i.
inline void pack_fifth_bits(const std::uint8_t* q, std::byte* out) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>(q[i] >> 4 & 1) << i;
  for (int i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(bits >> (8 * i) & 255);
}

/// q4_0 and q5_0: values are scale * (q - Half), the one of largest magnitude at q = 0. Product and sum are each rounded to f32.
template <int Half>
f16 levels_around_zero(DType format, const float* x, std::uint8_t* q) {
  const float scale = extreme_of(x, 32) / -static_cast<float>(Half);
  const f16 stored = stored_scale(format, scale);
  const float inverse = inverse_of(scale);
  for (int i = 0; i < 32; ++i) {
    const auto level = static_cast<int>(rounded(x[i] * inverse) + (Half + 0.5f));
    q[i] = static_cast<std::uint8_t>(level < 2 * Half ? level : 2 * Half - 1);
  }
  return stored;
}

/// q4_1 and q5_1: values are scale * q + minimum.
template <int Highest>
void levels_above_minimum(DType format, const float* x, std::uint8_t* q, f16& scale_out, f16& minimum_out) {
  float low = x[0], high = x[0];
  for (int i = 1; i < 32; ++i) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
  const float scale = (high - low) / static_cast<float>(Highest), inverse = inverse_of(scale);
  scale_out = stored_scale(format, scale);  // first: beyond f16 high - low may be infinite
  minimum_out = stored_scale(format, low);
  for (int i = 0; i < 32; ++i) {
    const auto level = static_cast<int>(rounded((x[i] - low) * inverse) + 0.5f);
    q[i] = static_cast<std::uint8_t>(level < Highest ? level : Highest);
  }
}

inline void encode_q4_0(const float* x, std::byte* out) {
  std::uint8_t q[32];
  const f16 scale = levels_around_zero<8>(DType::q4_0, x, q);
  std::memcpy(out, &scale, 2);
  pack_nibbles(q, out + 2);
}

inline void encode_q5_0(const float* x, std::byte* out) {
  std::uint8_t q[32];
  const f16 scale = levels_around_zero<16>(DType::q5_0, x, q);
  std::memcpy(out, &scale, 2);
  pack_fifth_bits(q, out + 2);
  pack_nibbles(q, out + 6);
}

inline void encode_q4_1(const float* x, std::byte* out) {
  std::uint8_t q[32];
  f16 scale, minimum;
  levels_above_minimum<15>(DType::q4_1, x, q, scale, minimum);
  std::memcpy(out, &scale, 2);
  std::memcpy(out + 2, &minimum, 2);
  pack_nibbles(q, out + 4);
}

inline void encode_q5_1(const float* x, std::byte* out) {
  std::uint8_t q[32];
  f16 scale, minimum;
  levels_above_minimum<31>(DType::q5_1, x, q, scale, minimum);
  std::memcpy(out, &scale, 2);
  std::memcpy(out + 2, &minimum, 2);
  pack_fifth_bits(q, out + 4);
  pack_nibbles(q, out + 8);
}

/// scale = max |x| / 127, q = x / scale rounded half away from zero.
inline void encode_q8_0(const float* x, std::byte* out) {
  const float scale = largest_of(x, 32) / 127.0f, inverse = inverse_of(scale);
  const f16 stored = stored_scale(DType::q8_0, scale);
  std::memcpy(out, &stored, 2);
  for (int i = 0; i < 32; ++i) out[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(x[i] * inverse)));
}

}  // namespace llm::detail::quant
