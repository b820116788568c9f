// Packed products of bf16 matrices through vdpbf16ps, which multiplies pairs of
// bf16 numbers and adds both products to a float.
//
// Packed operands are made of pairs that follow each other in depth, kept as
// the bits of a float; behind an odd depth stands a zero.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH == 16

/// Products of bf16 numbers, added up in float. Subnormal operands count as
/// zero and subnormal sums become zero, whatever the modes of the thread: they
/// lie below 1.2e-38, where no number of a model has a meaning. Infinities and
/// NaN are those of IEEE 754. Source: Intel 64 and IA-32 Architectures Software
/// Developer's Manual, VDPBF16PS.
struct PairsOfBf16 {
  LLM_SIMD static vf add_products(vf sums, vf a, vf b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));  // compilers differ in the types of its builtin
    return sums;
  }
  LLM_SIMD static void put(float* p, vf v, std::int64_t left) { store(p, v, left); }
  LLM_SIMD static void put(bf16* p, vf v, std::int64_t left) {
    vh rounded;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
    if (left < width) return store_part(p, rounded, left);
    *reinterpret_cast<vh_anywhere*>(p) = rounded;
  }
};

/// Product for bf16 operands, on CPUs with AVX512-BF16.
struct ProductBf16 : Multiply<PairsOfBf16> {
  using Packed = float;
  static constexpr std::int64_t depth_unit = 2;
  template <class C>
  static constexpr bool stores = std::is_same_v<C, float> || std::is_same_v<C, bf16>;
  static_assert(2 * block_rows == width);

  static bool view_left(Matrix<bf16> a, std::int64_t K, LeftView<float>& view) {
    if (a.col_stride != 1 || a.row_stride % 2 != 0 || K % 2 != 0) return false;
    view = {reinterpret_cast<const float*>(a.data), a.row_stride / 2, 1, 0};
    return true;
  }
  static bool view_right(Matrix<bf16>, std::int64_t, const float*&, std::int64_t&) { return false; }

  /// Packs at most block_cols columns of b, K deep: the pair (2k, 2k + 1) of
  /// column j as packed[k * padded(cols) + j].
  LLM_KERNEL static void pack_panel(Matrix<bf16> b, std::int64_t K, std::int64_t cols, float* packed) {
    const std::int64_t wide = padded(cols);
    if (b.col_stride == 1) {
      for (std::int64_t k = 0; k < K; k += 2) {
        for (std::int64_t later = k + 16; later < k + 18; ++later) fetch_values(b.from((std::min)(later, K - 1), 0).data, cols);
        for (std::int64_t j = 0; j < cols; j += width)
          store(packed + k / 2 * wide + j, pairs(b.data + k * b.row_stride + j, b.row_stride, cols - j, K - k));
      }
      return;
    }
    for (std::int64_t j = 0; j < cols; j += width)
      for (std::int64_t k = 0; k < K; k += 2 * width)
        transpose_pairs(b.from(k, j), K - k, cols - j, packed + k / 2 * wide + j, wide, std::make_index_sequence<width>{});
  }

  static constexpr std::int64_t left_size(std::int64_t M, std::int64_t K) { return round_up(M, block_rows) * ((K + 1) / 2); }

  /// Packs M rows of a, K deep: as rows where they are dense along the depth,
  /// else as blocks of [K / 2, block_rows] pairs.
  LLM_KERNEL static LeftView<float> pack_left(Matrix<bf16> a, std::int64_t M, std::int64_t K, float* packed) {
    const std::int64_t units = (K + 1) / 2;
    if (a.col_stride == 1) {
      for (std::int64_t i = 0; i < M; ++i)
        for (std::int64_t k = 0; k < K; k += 2 * width)
          store(packed + i * units + k / 2, load_pairs(a.data + i * a.row_stride + k, K - k), units - k / 2);
      return {packed, units, 1, 0};
    }
    const EvenBlocks blocks(M, block_rows);
    constexpr std::int64_t together = 4;  // blocks that share lines of memory
    for (std::int64_t first = 0; first < blocks.count; first += together) {
      const std::int64_t end = (std::min)(first + together, blocks.count);
      const bool whole = blocks.first(end) - blocks.first(first) == together * block_rows;
      for (std::int64_t k = 0; k < K; k += 2) {
        const bf16* line = a.data + k * a.col_stride;
        for (std::int64_t later = k + 48; later < k + 50; ++later)
          fetch_values(a.from(blocks.first(first), (std::min)(later, K - 1)).data, 1);
        float* to = packed + (first * units + k / 2) * block_rows;
        for (std::int64_t block = first; whole && block < end; block += 2, to += 2 * units * block_rows)
          store_halves(pairs(line + blocks.first(block), a.col_stride, width, K - k), to, to + units * block_rows);
        for (std::int64_t block = first; !whole && block < end; ++block, to += units * block_rows)
          store_low_half(pairs(line + blocks.first(block), a.col_stride, blocks.size(block), K - k), to);
      }
    }
    return {packed, 1, block_rows, block_rows * units};
  }

  template <class C>
  static void multiply(std::int64_t M, std::int64_t cols, std::int64_t K, LeftView<float> a, const float* panel, std::int64_t wide,
                       const float* before, std::int64_t before_stride, C* c, std::int64_t c_stride, Ahead ahead = {}) {
    Multiply::multiply(M, cols, (K + 1) / 2, a, panel, wide, before, before_stride, c, c_stride, ahead);
  }

 private:
  /// Elements [0, left) of the line at p, each with the one below it in the
  /// next line, which exists when depth > 1.
  LLM_SIMD static vf pairs(const bf16* p, std::int64_t line, std::int64_t left, std::int64_t depth) {
    const vu even = (vu)load(p, left) >> 16;
    return (vf)(depth > 1 ? even | (vu)load(p + line, left) : even);
  }
  LLM_SIMD static void store_low_half(vf v, float* to) { __builtin_memcpy(to, &v, sizeof(v) / 2); }
  LLM_SIMD static void store_halves(vf v, float* low, float* high) {
    store_low_half(v, low);
    store_low_half(rotate<width / 2>(v, std::make_index_sequence<width>{}), high);
  }
  /// Pairs of a line of memory with `left` more numbers: zeros behind them.
  LLM_SIMD static vf load_pairs(const bf16* p, std::int64_t left) {
    typedef std::uint16_t line __attribute__((vector_size(LLM_SIMD_WIDTH * 4), aligned(2), may_alias));
    const std::uint32_t mask = left < 2 * width ? (1u << left) - 1 : ~0u;
    vf words;
    __asm__("vmovdqu16 %1, %0%{%2%}%{z%}" : "=v"(words) : "m"(*reinterpret_cast<const line*>(p)), "Yk"(mask));
    return words;
  }
  template <std::size_t... I>
  LLM_SIMD static void transpose_pairs(Matrix<bf16> b, std::int64_t depth, std::int64_t cols, float* to, std::int64_t wide,
                                       std::index_sequence<I...>) {
    vf columns[width] = {load_pairs(b.data + (std::min)(static_cast<std::int64_t>(I), cols - 1) * b.col_stride, depth)...};
    transpose(columns);
    ((2 * static_cast<std::int64_t>(I) < depth ? store(to + static_cast<std::int64_t>(I) * wide, columns[I]) : void()), ...);
  }
};

#endif
