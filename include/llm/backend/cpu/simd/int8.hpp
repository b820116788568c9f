// Dot products of bytes, four to a lane, and tiles of packed weights (cpu/packed.hpp) taken apart in registers.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH >= 8

typedef std::uint32_t vu_anywhere __attribute__((vector_size(LLM_SIMD_WIDTH * 4), aligned(1), may_alias));
typedef std::uint8_t vb_anywhere __attribute__((vector_size(LLM_SIMD_WIDTH), aligned(1), may_alias));
typedef std::int32_t int_anywhere __attribute__((aligned(1), may_alias));

/// Vectors that hold one number for each row of a panel.
inline constexpr int panel_vectors = panel_rows / width;

LLM_SIMD vu load_words(const void* p) { return *static_cast<const vu_anywhere*>(p); }
LLM_SIMD void store_words(void* p, vu v) { *static_cast<vu_anywhere*>(p) = v; }
LLM_SIMD vu splat_word(std::uint32_t x) { return x - vu{}; }
LLM_SIMD vi splat_four_bytes(const void* p) { return splat_int(*static_cast<const int_anywhere*>(p)); }
LLM_SIMD vf to_floats(vi v) { return __builtin_convertvector(v, vf); }
LLM_SIMD vi load_bytes(const Byte* p) {
  vi wide;
  __asm__("vpmovzxbd %1, %0" : "=v"(wide) : "m"(*reinterpret_cast<const vb_anywhere*>(p)));
  return wide;
}
LLM_SIMD vf load_halves(const Byte* p) { return load(reinterpret_cast<const f16*>(p)); }

/// Sums of products of unsigned bytes of a with signed bytes of b, four to a lane, on top of `sums`.
/// DotBytes: the CPU's own instruction. DotPairs: pairs of products meet in 16 bits, so `a` may have seven bits; eight are signed there,
/// and get the sign of the product through b. add_quad adds number J of `Count` quads, whose pairs may meet in `open` first.
struct DotBytes {
  static constexpr bool signed_codes = false;
  template <int Bits, int J, int Count>
  LLM_SIMD static void add_quad(vi& sums, vi&, vu a, vi b) {
    sums = add<Bits>(sums, a, b);
  }
  template <int Bits>
  LLM_SIMD static vi add(vi sums, vu a, vi b) {
#if LLM_SIMD_WIDTH == 16
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
#else
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
#endif
    return sums;
  }
};
struct DotPairs {
  static constexpr bool signed_codes = true;
  template <int Bits>
  LLM_SIMD static vi add(vi sums, vu a, vi b) {
    return sums + of_pairs(pairs<Bits>(a, b));
  }
  /// As many pairs of small codes are added up in 16 bits as fit; activations have magnitudes up to 127.
  template <int Bits, int J, int Count>
  LLM_SIMD static void add_quad(vi& sums, vi& open, vu a, vi b) {
    constexpr int most = Bits == 8 ? 1 : 32767 / (2 * 127 * ((1 << Bits) - 1));
    open = J % most == 0 ? pairs<Bits>(a, b) : (vi)((vs)open + (vs)pairs<Bits>(a, b));
    if constexpr ((J + 1) % most == 0 || J + 1 == Count) sums = sums + of_pairs(open);
  }

 private:
  typedef std::int16_t vs __attribute__((vector_size(LLM_SIMD_WIDTH * 4)));

  /// a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1], in 16 bits each.
  template <int Bits>
  LLM_SIMD static vi pairs(vu a, vi b) {
    vi sums;
    if constexpr (Bits == 8) {
#if LLM_SIMD_WIDTH == 16
      std::uint64_t negative;
      __asm__("vpmovb2m %1, %0" : "=Yk"(negative) : "v"(a));
      __asm__("vpsubb %1, %2, %0%{%3%}" : "+v"(b) : "v"(b), "v"(vi{}), "Yk"(negative));
#else
      __asm__("vpsignb %1, %0, %0" : "+x"(b) : "x"(a));
#endif
      __asm__("vpabsb %0, %0" : "+v"(a));
    }
    __asm__("vpmaddubsw %2, %1, %0" : "=v"(sums) : "v"(a), "v"(b));
    return sums;
  }
  /// Pairs of pairs in 32 bits.
  LLM_SIMD static vi of_pairs(vi pairs) {
    __asm__("vpmaddwd %1, %0, %0" : "+v"(pairs) : "v"(splat_int(0x00010001)));
    return pairs;
  }
};

/// Bits [From, From + number of ones of Mask) of each byte, moved to bit To.
template <int From, int To, std::uint32_t Mask>
LLM_SIMD vu move_bits(vu bytes) {
  if constexpr (From > To)
    bytes = bytes >> (From - To);
  else if constexpr (From < To)
    bytes = bytes << (To - From);
  return bytes & splat_word((Mask << To) * 0x01010101u);
}

/// Quad J of a tile as one byte a code, of the rows of one vector: `tile` points at the first of them. Signed when codes of eight bits are.
template <class Codes, bool Signed, int J>
LLM_SIMD vu quad_of(const Byte* tile) {
  using P = Packed<Codes>;
  if constexpr (Codes::bits == 8) {
    const vu code = load_words(tile + quad_bytes * J);
    return Signed ? code ^ splat_word(0x80808080u) : code;
  }
  vu code = {};
  if constexpr (Codes::bits & 4) code = move_bits<J / 4 * 4, 0, 15>(load_words(tile + quad_bytes * (J % 4)));
  if constexpr (Codes::bits & 2)
    code = code | move_bits<J / 2 * 2, P::pairs_shift, 3>(load_words(tile + P::pairs_at + quad_bytes * (J % 2)));
  if constexpr (Codes::bits & 1) code = code | move_bits<J, Codes::bits - 1, 1>(load_words(tile + P::single_at));
  return code;
}

/// What the codes of a group of columns are multiplied by, and what is added to that, of the rows of one vector; `row` is its first in the
/// panel. The numbers are those of Codes::scales, bit for bit: their products are exact.
struct GroupScale {
  vf scale, offset;
};
template <DType Format, int Bits, int Zero, int Header, int Bytes>
LLM_SIMD GroupScale scale_of(detail::OneGroup<Format, Bits, Zero, Header, Bytes>, const Byte* header, int, int row) {
  const Byte* const half = header + 2 * row;
  return {load_halves(half), Zero == 0 ? load_halves(half + 2 * panel_rows) : vf{}};
}
/// Byte i of the small scales behind `halves` f16 numbers.
LLM_SIMD vi scale_byte(const Byte* header, int halves, int i, int row) { return load_bytes(header + panel_rows * (2 * halves + i) + row); }

template <DType Format, int Bits, int Bytes>
LLM_SIMD GroupScale scale_of(detail::SixBitScales<Format, Bits, Bytes>, const Byte* header, int group, int row) {
  const vi a = scale_byte(header, 2, group, row), b = scale_byte(header, 2, group + 4, row);
  vi scale = a & 63, offset = b & 63;
  if (group >= 4) {
    const vi high = scale_byte(header, 2, group - 4, row);
    scale = (b & 15) | (high >> 6 << 4);
    offset = b >> 4 | (a >> 6 << 4);
  }
  return {load_halves(header + 2 * row) * to_floats(scale), -(load_halves(header + 2 * (panel_rows + row)) * to_floats(offset))};
}
LLM_SIMD GroupScale scale_of(detail::CodesQ2_K, const Byte* header, int group, int row) {
  const vi both = scale_byte(header, 2, group, row);
  return {load_halves(header + 2 * row) * to_floats(both & 15), -(load_halves(header + 2 * (panel_rows + row)) * to_floats(both >> 4))};
}
LLM_SIMD GroupScale scale_of(detail::CodesQ3_K, const Byte* header, int group, int row) {
  const vi low = scale_byte(header, 1, group % 8, row) >> (group / 8 * 4) & 15;
  const vi high = scale_byte(header, 1, 8 + group % 4, row) >> (group / 4 * 2) & 3;
  return {load_halves(header + 2 * row) * to_floats((low | high << 4) - 32), vf{}};
}
LLM_SIMD GroupScale scale_of(detail::CodesQ6_K, const Byte* header, int group, int row) {
  const vi scale = scale_byte(header, 1, group, row) << 24 >> 24;
  return {load_halves(header + 2 * row) * to_floats(scale), vf{}};
}

#endif
