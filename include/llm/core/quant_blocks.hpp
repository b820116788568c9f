// GGML's block formats taken apart: value i of a block is scale * (code - zero) + offset, scale and offset being those of its group.
//
// What each format offers:
//   format                      its tag
//   elements, bytes, group      values in a block, its bytes, and values that share a scale and an offset
//   bits, zero, has_offset      codes lie in [0, 2^bits); whether offsets are ever other than 0
//   header                      where the bytes stand that are no codes
//   codes(block, code)          writes the `elements` codes
//   scales(block, scale, offset)  writes elements / group of each; offset is left alone unless has_offset
// All products are exact in float (an f16 times integers of few bits), so a value has one rounding at most: that of adding the offset.
// Source: ggml-common.h and ggml-quants.c of github.com/ggml-org/llama.cpp describe the layouts.
#pragma once

#include <cstdint>
#include <cstring>

#include <llm/core/dtype.hpp>

namespace llm::detail {

using Byte = std::uint8_t;

/// `count` numbers of `size` bytes each, side by side from `at` on.
struct HeaderPart {
  int at, size, count;
};

/// The f16 at p, of any alignment.
inline float half_at(const Byte* p) {
  f16 half;
  half.bits = static_cast<std::uint16_t>(p[0] | p[1] << 8);
  return half;
}

/// Sixteen bytes give 32 codes: the low halves are the first 16, the high halves the last.
inline void nibbles_of_32(const Byte* packed, Byte* code) {
  for (int i = 0; i < 16; ++i) {
    code[i] = packed[i] & 15;
    code[i + 16] = packed[i] >> 4;
  }
}
/// Adds bit i of 32 as the fifth bit of code i.
inline void fifth_bits_of_32(const Byte* bits, Byte* code) {
  for (int at = 0; at < 32; at += 8) {
    // bit k as bit k of byte k, and then as bit 0 of it
    const std::uint64_t apart = bits[at / 8] * 0x0101010101010101u & 0x8040201008040201u;
    const std::uint64_t ones = (apart + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
    for (int k = 0; k < 8; ++k) code[at + k] = static_cast<Byte>(code[at + k] | (ones >> 8 * k & 1) << 4);
  }
}

/// What formats of 32 values in one group have in common: they begin with their scale.
template <DType Format, int Bits, int Zero, int Header, int Bytes>
struct OneGroup {
  static constexpr DType format = Format;
  static constexpr int elements = 32, group = 32, bits = Bits, zero = Zero, bytes = Bytes;
  static constexpr bool has_offset = Zero == 0;
  static constexpr HeaderPart header[] = {{0, 2, has_offset ? 2 : 1}};
  static void scales(const Byte* block, float* scale, float* offset) {
    *scale = half_at(block);
    if constexpr (has_offset) *offset = half_at(block + 2);
  }

 protected:
  static const Byte* body(const Byte* block) { return block + Header; }
};

struct CodesQ8_0 : OneGroup<DType::q8_0, 8, 128, 2, 34> {
  static void codes(const Byte* block, Byte* code) {
    for (int i = 0; i < 32; ++i) code[i] = static_cast<Byte>(body(block)[i] ^ 128);  // signed bytes
  }
};
struct CodesQ4_0 : OneGroup<DType::q4_0, 4, 8, 2, 18> {
  static void codes(const Byte* block, Byte* code) { nibbles_of_32(body(block), code); }
};
struct CodesQ4_1 : OneGroup<DType::q4_1, 4, 0, 4, 20> {
  static void codes(const Byte* block, Byte* code) { nibbles_of_32(body(block), code); }
};
struct CodesQ5_0 : OneGroup<DType::q5_0, 5, 16, 2, 22> {
  static void codes(const Byte* block, Byte* code) {
    nibbles_of_32(body(block) + 4, code);
    fifth_bits_of_32(body(block), code);
  }
};
struct CodesQ5_1 : OneGroup<DType::q5_1, 5, 0, 4, 24> {
  static void codes(const Byte* block, Byte* code) {
    nibbles_of_32(body(block) + 4, code);
    fifth_bits_of_32(body(block), code);
  }
};

/// What the formats of 256 values have in common: small integer scales of their groups, times an f16.
template <DType Format, int Bits, int Zero, int Group, int Bytes>
struct ManyGroups {
  static constexpr DType format = Format;
  static constexpr int elements = 256, group = Group, groups = 256 / Group, bits = Bits, zero = Zero, bytes = Bytes;
  static constexpr bool has_offset = Zero == 0;
};

/// Adds the fields of 32 bytes, from bit `shift` on and cut out by `mask`, to 32 codes, from bit `up` on. All formats of 256 values are
/// made of these: loops over 32 bytes and one shift, which compilers turn into vectors.
inline void add_fields(const Byte* packed, int shift, int mask, int up, Byte* code) {
  for (int i = 0; i < 32; ++i) code[i] = static_cast<Byte>(code[i] | (packed[i] >> shift & mask) << up);
}
/// Two-bit fields: byte i of 32 holds values i, i + 32, i + 64 and i + 96 of each half of a block.
inline void add_pairs_of_256(const Byte* packed, int up, Byte* code) {
  for (int t = 0; t < 8; ++t) add_fields(packed + t / 4 * 32, t % 4 * 2, 3, up, code + 32 * t);
}
/// Single bits: byte i of 32 holds bits of values i, i + 32, i + 64, ...
inline void add_bits_of_256(const Byte* packed, int up, Byte* code) {
  for (int t = 0; t < 8; ++t) add_fields(packed, t, 1, up, code + 32 * t);
}

struct CodesQ2_K : ManyGroups<DType::q2_k, 2, 0, 16, 84> {
  static constexpr HeaderPart header[] = {{80, 2, 2}, {0, 1, 16}};
  static void codes(const Byte* block, Byte* code) {
    std::memset(code, 0, elements);
    add_pairs_of_256(block + 16, 0, code);
  }
  static void scales(const Byte* block, float* scale, float* offset) {
    const float d = half_at(block + 80), least = half_at(block + 82);
    for (int g = 0; g < groups; ++g) {
      scale[g] = d * static_cast<float>(block[g] & 15);
      offset[g] = -(least * static_cast<float>(block[g] >> 4));
    }
  }
};

struct CodesQ3_K : ManyGroups<DType::q3_k, 3, 4, 16, 110> {
  static constexpr HeaderPart header[] = {{108, 2, 1}, {96, 1, 12}};
  static void codes(const Byte* block, Byte* code) {
    std::memset(code, 0, elements);
    add_bits_of_256(block, 2, code);
    add_pairs_of_256(block + 32, 0, code);
  }
  static void scales(const Byte* block, float* scale, float*) {
    const Byte* const packed = block + 96;
    const float d = half_at(block + 108);
    for (int g = 0; g < groups; ++g) {
      const int low = packed[g % 8] >> g / 8 * 4 & 15, high = packed[8 + g % 4] >> g / 4 * 2 & 3;
      scale[g] = d * static_cast<float>((low | high << 4) - 32);
    }
  }
};

/// Q4_K and Q5_K begin alike: two f16, then eight scales and eight offsets of six bits in twelve bytes.
template <DType Format, int Bits, int Bytes>
struct SixBitScales : ManyGroups<Format, Bits, 0, 32, Bytes> {
  static constexpr HeaderPart header[] = {{0, 2, 2}, {4, 1, 12}};
  static void scales(const Byte* block, float* scale, float* offset) {
    const Byte* const packed = block + 4;
    const float d = half_at(block), least = half_at(block + 2);
    for (int g = 0; g < 8; ++g) {
      const int s = g < 4 ? packed[g] & 63 : (packed[g + 4] & 15) | packed[g - 4] >> 6 << 4;
      const int o = g < 4 ? packed[g + 4] & 63 : packed[g + 4] >> 4 | packed[g] >> 6 << 4;
      scale[g] = d * static_cast<float>(s);
      offset[g] = -(least * static_cast<float>(o));
    }
  }

 protected:
  /// 32 bytes give 64 codes: the low halves are the first 32.
  static void nibbles(const Byte* packed, Byte* code) {
    std::memset(code, 0, 256);
    for (int t = 0; t < 8; ++t) add_fields(packed + t / 2 * 32, t % 2 * 4, 15, 0, code + 32 * t);
  }
};

struct CodesQ4_K : SixBitScales<DType::q4_k, 4, 144> {
  static void codes(const Byte* block, Byte* code) { nibbles(block + 16, code); }
};
struct CodesQ5_K : SixBitScales<DType::q5_k, 5, 176> {
  static void codes(const Byte* block, Byte* code) {
    nibbles(block + 48, code);
    add_bits_of_256(block + 16, 4, code);
  }
};

struct CodesQ6_K : ManyGroups<DType::q6_k, 6, 32, 16, 210> {
  static constexpr HeaderPart header[] = {{208, 2, 1}, {192, 1, 16}};
  static void codes(const Byte* block, Byte* code) {
    std::memset(code, 0, elements);
    for (int t = 0; t < 8; ++t) add_fields(block + t / 4 * 64 + t % 2 * 32, t % 4 / 2 * 4, 15, 0, code + 32 * t);
    add_pairs_of_256(block + 128, 4, code);
  }
  static void scales(const Byte* block, float* scale, float*) {
    const float d = half_at(block + 208);
    for (int g = 0; g < groups; ++g) scale[g] = d * static_cast<float>(static_cast<std::int8_t>(block[192 + g]));
  }
};

/// f(Codes{}) for a block format; false, and no call, for any other.
template <class F>
constexpr bool with_codes(DType format, const F& f) {
  switch (format) {
    case DType::q8_0:
      return f(CodesQ8_0{}), true;
    case DType::q4_0:
      return f(CodesQ4_0{}), true;
    case DType::q4_1:
      return f(CodesQ4_1{}), true;
    case DType::q5_0:
      return f(CodesQ5_0{}), true;
    case DType::q5_1:
      return f(CodesQ5_1{}), true;
    case DType::q2_k:
      return f(CodesQ2_K{}), true;
    case DType::q3_k:
      return f(CodesQ3_K{}), true;
    case DType::q4_k:
      return f(CodesQ4_K{}), true;
    case DType::q5_k:
      return f(CodesQ5_K{}), true;
    case DType::q6_k:
      return f(CodesQ6_K{}), true;
    default:
      return false;
  }
}

}  // namespace llm::detail
