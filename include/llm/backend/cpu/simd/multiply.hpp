// Packed matrix products in float: the right operand in panels of columns, and the kernel that multiplies blocks of rows by a panel.
//
// After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication": a block of rows x columns of the result stays in
// registers over the whole depth, while its rows of the left operand are broadcast and a panel of the right one streams from the caches.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH > 1

/// Blocks of rows times a panel, both of units that are 32 bits in size, and what a unit is: Unit::add_products(sums, a, b) is each lane of
/// sums plus what the units in that lane of a and b give; Unit::put(p, v, left) stores the first `left` lanes of a result.
template <class Unit>
struct Multiply {
  static constexpr std::int64_t block_rows = LLM_SIMD_BLOCK_ROWS, block_cols = LLM_SIMD_BLOCK_VECTORS * width, vector_cols = width;
  template <class C>
  static constexpr bool stores = std::is_same_v<C, float>;

  static constexpr std::int64_t padded(std::int64_t cols) { return round_up(cols, width); }

  /// c[M, cols] = before + a[M, K] b for at most block_cols columns: `panel` is b in rows of `wide` floats. `before` is rows of
  /// floats, which may be c itself, one row for all (stride 0), or null. C is float, or bf16 where the unit can store it.
  template <class C>
  LLM_KERNEL static void multiply(std::int64_t M, std::int64_t cols, std::int64_t K, LeftView<float> a, const float* panel,
                                  std::int64_t wide, const float* before, std::int64_t before_stride, C* c, std::int64_t c_stride,
                                  Ahead ahead = {}) {
    if (cols > 2 * width)
      return multiply_rows<LLM_SIMD_BLOCK_VECTORS>(M, cols, K, a, panel, wide, before, before_stride, c, c_stride, ahead);
    if (cols > width) return multiply_rows<2>(M, cols, K, a, panel, wide, before, before_stride, c, c_stride, ahead);
    multiply_rows<1>(M, cols, K, a, panel, wide, before, before_stride, c, c_stride, ahead);
  }

 private:
  static constexpr int R = LLM_SIMD_BLOCK_ROWS;
  static constexpr std::int64_t strip = 16;  // floats of a line

  /// One block of the result and what makes it.
  template <class C>
  struct Block {
    const float* a;
    std::int64_t row_stride, depth_stride;
    const float* next;  // the next block's rows, of which `strip` values each are fetched at a time
    std::int64_t next_step;
    const float* panel;
    std::int64_t wide;
    const float* before;
    std::int64_t before_stride;
    C* c;
    std::int64_t c_stride, rows, last_cols;
    std::int64_t lines;  // to fetch in each strip
  };

  template <int V, class C>
  LLM_SIMD static void multiply_rows(std::int64_t M, std::int64_t cols, std::int64_t K, const LeftView<float>& a, const float* panel,
                                     std::int64_t wide, const float* before, std::int64_t before_stride, C* c, std::int64_t c_stride,
                                     Ahead& ahead) {
    const EvenBlocks blocks(M, R);
    const std::int64_t lines = ahead.lines() / (std::max)(blocks.count * (K / strip + 1), std::int64_t{1}) + 1;
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      const std::int64_t first = blocks.first(b), rows = blocks.size(b), next = (std::min)(b + 1, blocks.count - 1);
      const Block<C> block{a.at(b, first),
                           a.row_stride,
                           a.depth_stride,
                           a.at(next, blocks.first(next)),
                           a.depth_stride == 1 ? a.row_stride : width,
                           panel,
                           wide,
                           before == nullptr ? nullptr : before + first * before_stride,
                           before_stride,
                           c + first * c_stride,
                           c_stride,
                           rows,
                           cols - (V - 1) * width,
                           lines};
      if (rows == R - 1)
        multiply_block<R - 1, V>(K, block, ahead, std::make_index_sequence<R - 1>{});
      else if (rows > R / 2)
        multiply_block<R, V>(K, block, ahead, std::make_index_sequence<R>{});
      else
        multiply_block<R / 2, V>(K, block, ahead, std::make_index_sequence<R / 2>{});
    }
  }

  template <int Rows, int V, class C, std::size_t... I>
  LLM_SIMD static void multiply_block(std::int64_t K, const Block<C>& x, Ahead& ahead, std::index_sequence<I...>) {
    vf sums[Rows][V] = {};
    const float *a = x.a, *next = x.next, *panel = x.panel;
    // Rows past the last are the last one over again.
    const std::int64_t at[] = {(std::min)(static_cast<std::int64_t>(I), x.rows - 1) * x.row_stride...};
    (fetch_row<V>(x.c + (std::min)(static_cast<std::int64_t>(I), x.rows - 1) * x.c_stride), ...);
    for (std::int64_t k = 0; k < K;) {
      (__builtin_prefetch(next + static_cast<std::int64_t>(I) * x.next_step, 0, 2), ...);
      next += strip * x.depth_stride;
      ahead.fetch(x.lines);
      for (const std::int64_t end = (std::min)(k + strip, K); k < end; ++k) {
        vf b[V];
        load_row(b, panel);
        (add_products<Unit>(sums[I], splat_from(a + at[I]), b), ...);
        panel += x.wide;
        a += x.depth_stride;
      }
    }
    (write_row<V>(sums[I], static_cast<std::int64_t>(I), x), ...);
  }

  template <int V, class C>
  LLM_SIMD static void fetch_row(const C* c) {
    constexpr std::int64_t bytes = V * width * static_cast<std::int64_t>(sizeof(C));
    __builtin_prefetch(c, 1, 3);
    if constexpr (bytes > 128) __builtin_prefetch(c + width, 1, 3);
    __builtin_prefetch(c + V * width - 1, 1, 3);
  }

  template <int V, class C>
  LLM_SIMD static void write_row(const vf (&sums)[V], std::int64_t row, const Block<C>& x) {
    if (row >= x.rows) return;
    C* c = x.c + row * x.c_stride;
    const float* before = x.before == nullptr ? nullptr : x.before + row * x.before_stride;
    if constexpr (V > 1) write(c, before, sums[0], width);
    if constexpr (V > 2) write(c + width, before == nullptr ? nullptr : before + width, sums[1], width);
    constexpr int end = (V - 1) * width;
    write(c + end, before == nullptr ? nullptr : before + end, sums[V - 1], x.last_cols);
  }
  template <class C>
  LLM_SIMD static void write(C* c, const float* before, vf sums, std::int64_t left) {
    Unit::put(c, before == nullptr ? sums : load(before, left) + sums, left);
  }
};

#endif
