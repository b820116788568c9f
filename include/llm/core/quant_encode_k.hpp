// Encodes the formats with blocks of 256 values: q2_k, q3_k, q4_k, q5_k, q6_k.
// Source: the meaning of their bits in the Python package gguf (quants.py).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>
#include <llm/core/quant_encode_32.hpp>
#include <llm/core/quant_super_block.hpp>

namespace llm::detail::quant {

inline constexpr SuperBlockLayout layout_q2_k{16, {0, 3}, 0, 15, 15, 12, 1.0f, 2};
inline constexpr SuperBlockLayout layout_q3_k{16, {-4, 3}, -32, 31, 0, 8, 1.5f, 1};
inline constexpr SuperBlockLayout layout_q4_k{32, {0, 15}, 0, 63, 63, 12, 3.0f, 1};
inline constexpr SuperBlockLayout layout_q5_k{32, {0, 31}, 0, 63, 63, 8, 2.0f, 1};
inline constexpr SuperBlockLayout layout_q6_k{16, {-32, 31}, -128, 127, 0, 4, 1.5f, 1};

/// The block, once its d and d_min are known to be finite f16.
template <SuperBlockLayout L>
SuperBlock<L> fit(DType format, const float* x) {
  const SuperBlockFit<L> fitted(x);
  stored_scale(format, fitted.wanted_d());
  stored_scale(format, fitted.wanted_d_min());
  return fitted.encode();
}

inline std::byte byte_of(unsigned value) { return static_cast<std::byte>(value & 255u); }

/// Two bits of four values a byte: within each 128, value l, l + 32, l + 64, l + 96.
inline void pack_pairs_of_bits(const std::uint8_t* q, int shift, std::byte* out) {
  const auto bits = [&](int i) { return static_cast<unsigned>(q[i] >> shift & 3); };
  for (int h = 0; h < 2; ++h)
    for (int l = 0; l < 32; ++l) {
      const int i = 128 * h + l;
      out[32 * h + l] = byte_of(bits(i) | bits(i + 32) << 2 | bits(i + 64) << 4 | bits(i + 96) << 6);
    }
}

/// Six bits of eight scales and eight minima: the low four of the last eight numbers share bytes, their high two stand above the others.
inline void pack_scales_and_minima(const int* scale, const int* minimum, std::byte* out) {
  const auto u = [](int v) { return static_cast<unsigned>(v); };
  for (int j = 0; j < 4; ++j) {
    out[j] = byte_of(u(scale[j]) | u(scale[j + 4]) >> 4 << 6);
    out[j + 4] = byte_of(u(minimum[j]) | u(minimum[j + 4]) >> 4 << 6);
    out[j + 8] = byte_of((u(scale[j + 4]) & 15u) | (u(minimum[j + 4]) & 15u) << 4);
  }
}

/// The low four bits of q4_k and q5_k: within each 64, value l and l + 32 share a byte.
inline void pack_nibbles_by_64(const std::uint8_t* q, std::byte* out) {
  for (int c = 0; c < 4; ++c)
    for (int l = 0; l < 32; ++l) out[32 * c + l] = byte_of((q[64 * c + l] & 15u) | (q[64 * c + l + 32] & 15u) << 4);
}

inline void encode_q2_k(const float* x, std::byte* out) {
  const auto block = fit<layout_q2_k>(DType::q2_k, x);
  for (int j = 0; j < 16; ++j) out[j] = byte_of(static_cast<unsigned>(block.scale[j]) | static_cast<unsigned>(block.minimum[j]) << 4);
  pack_pairs_of_bits(block.q, 0, out + 16);
  std::memcpy(out + 80, &block.d, 2);
  std::memcpy(out + 82, &block.d_min, 2);
}

inline void encode_q3_k(const float* x, std::byte* out) {
  const auto block = fit<layout_q3_k>(DType::q3_k, x);
  unsigned high[32] = {}, scales[12] = {};
  for (int i = 0; i < 256; ++i) high[i % 32] |= static_cast<unsigned>(block.q[i] >> 2) << (i / 32);
  for (int j = 0; j < 16; ++j) {
    const auto scale = static_cast<unsigned>(block.scale[j] + 32);
    scales[j % 8] |= (scale & 15u) << (j < 8 ? 0 : 4);
    scales[8 + j % 4] |= scale >> 4 << (2 * (j / 4));
  }
  for (int i = 0; i < 32; ++i) out[i] = byte_of(high[i]);
  pack_pairs_of_bits(block.q, 0, out + 32);
  for (int i = 0; i < 12; ++i) out[96 + i] = byte_of(scales[i]);
  std::memcpy(out + 108, &block.d, 2);
}

inline void encode_q4_k(const float* x, std::byte* out) {
  const auto block = fit<layout_q4_k>(DType::q4_k, x);
  std::memcpy(out, &block.d, 2);
  std::memcpy(out + 2, &block.d_min, 2);
  pack_scales_and_minima(block.scale, block.minimum, out + 4);
  pack_nibbles_by_64(block.q, out + 16);
}

inline void encode_q5_k(const float* x, std::byte* out) {
  const auto block = fit<layout_q5_k>(DType::q5_k, x);
  std::memcpy(out, &block.d, 2);
  std::memcpy(out + 2, &block.d_min, 2);
  pack_scales_and_minima(block.scale, block.minimum, out + 4);
  unsigned fifth[32] = {};
  for (int i = 0; i < 256; ++i) fifth[i % 32] |= static_cast<unsigned>(block.q[i] >> 4) << (i / 32);
  for (int i = 0; i < 32; ++i) out[16 + i] = byte_of(fifth[i]);
  pack_nibbles_by_64(block.q, out + 48);
}

inline void encode_q6_k(const float* x, std::byte* out) {
  const auto block = fit<layout_q6_k>(DType::q6_k, x);
  for (int h = 0; h < 2; ++h)
    for (int l = 0; l < 64; ++l) {
      const int i = 128 * h + l;
      out[64 * h + l] = byte_of((block.q[i] & 15u) | (block.q[i + 64] & 15u) << 4);
    }
  pack_pairs_of_bits(block.q, 4, out + 128);
  for (int j = 0; j < 16; ++j) out[192 + j] = static_cast<std::byte>(static_cast<std::int8_t>(block.scale[j]));
  std::memcpy(out + 208, &block.d, 2);
}

}  // namespace llm::detail::quant
