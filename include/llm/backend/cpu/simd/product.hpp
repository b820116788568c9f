// Packed matrix products in float: how operands are packed. The kernel is that of multiply.hpp.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH > 1

/// to[j * to_stride + i] = from[min(i, lines - 1)][j] for a square of width x width.
template <class T, std::size_t... I>
LLM_SIMD void transpose_square(const T* from, std::int64_t stride, std::int64_t lines, float* to, std::int64_t to_stride,
                               std::index_sequence<I...>) {
  vf rows[width] = {load(from + (std::min)(static_cast<std::int64_t>(I), lines - 1) * stride)...};
  transpose(rows);
  (store(to + static_cast<std::int64_t>(I) * to_stride, rows[I]), ...);
}

/// Fetches the `count` values at p, which packing reads in a moment: hardware does not foresee rows far apart.
template <class T>
LLM_SIMD void fetch_values(const T* p, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(p + i);
  __builtin_prefetch(p + count - 1);
}

struct Product : Multiply<Floats> {
  using Packed = float;
  static constexpr std::int64_t depth_unit = 1;

  /// Whether rows of the left operand can be read where they are, and how.
  template <class T>
  static bool view_left(Matrix<T> a, std::int64_t, LeftView<float>& view) {
    if constexpr (std::is_same_v<T, float>) view = {a.data, a.row_stride, a.col_stride, 0};
    return std::is_same_v<T, float>;
  }
  /// The same of a panel of the right operand, whose rows of `cols` floats are then `wide` apart.
  template <class T>
  static bool view_right(Matrix<T> b, std::int64_t cols, const float*& panel, std::int64_t& wide) {
    if (!std::is_same_v<T, float> || b.col_stride != 1 || cols % width != 0) return false;
    if constexpr (std::is_same_v<T, float>) panel = b.data;
    wide = b.row_stride;
    return true;
  }

  /// Packs at most block_cols columns of b, K deep, as packed[k * padded(cols) + j]. Columns of padding hold what the last one holds.
  template <class T>
  LLM_KERNEL static void pack_panel(Matrix<T> b, std::int64_t K, std::int64_t cols, float* packed) {
    const std::int64_t wide = padded(cols);
    if (b.col_stride == 1) {
      for (std::int64_t k = 0; k < K; ++k) {
        fetch_values(b.from((std::min)(k + 16, K - 1), 0).data, cols);
        for (std::int64_t j = 0; j < cols; j += width) store(packed + k * wide + j, load(b.data + k * b.row_stride + j, cols - j));
      }
      return;
    }
    for (std::int64_t j = 0; j < cols; j += width) {
      const T* from = b.data + j * b.col_stride;
      std::int64_t k = 0;
      for (; k + width <= K; k += width)
        transpose_square(from + k, b.col_stride, cols - j, packed + k * wide + j, wide, std::make_index_sequence<width>{});
      for (; k < K; ++k)
        for (std::int64_t i = 0; i < width; ++i)
          packed[k * wide + j + i] = static_cast<float>(from[(std::min)(i, cols - j - 1) * b.col_stride + k]);
    }
  }

  static constexpr std::int64_t left_size(std::int64_t M, std::int64_t K) { return round_up(M, block_rows) * (K + apart); }

  /// Packs M rows of a, K deep, close together: as rows where they are dense along the depth, else, where rows follow each other, as blocks
  /// of [K, block_rows]. These are a little apart, to lie in other sets of the first cache.
  template <class T>
  LLM_KERNEL static LeftView<float> pack_left(Matrix<T> a, std::int64_t M, std::int64_t K, float* packed) {
    if (a.col_stride == 1) {
      for (std::int64_t i = 0; i < M; ++i)
        for (std::int64_t k = 0; k < K; k += width) store(packed + i * K + k, load(a.data + i * a.row_stride + k, K - k), K - k);
      return {packed, K, 1, 0};
    }
    const EvenBlocks blocks(M, block_rows);
    constexpr std::int64_t together = 16;  // blocks that are read along lines of memory and written side by side
    const std::int64_t block_size = (K + apart) * block_rows;
    for (std::int64_t first = 0; first < blocks.count; first += together) {
      const std::int64_t end = (std::min)(first + together, blocks.count);
      for (std::int64_t k = 0; k < K; ++k) {
        const T* from = a.from(blocks.first(first), k).data;
        float* to = packed + first * block_size + k * block_rows;
        fetch_values(from + (std::min)(std::int64_t{4}, K - 1 - k) * a.col_stride, blocks.first(end) - blocks.first(first));
        for (std::int64_t block = first; block < end; from += blocks.size(block), to += block_size, ++block)
          copy_row(from, blocks.size(block), to);
      }
    }
    return {packed, 1, block_rows, block_size};
  }

 private:
  static constexpr int R = LLM_SIMD_BLOCK_ROWS;
  static constexpr std::int64_t apart = 2;

  template <class T>
  LLM_SIMD static void copy_row(const T* from, std::int64_t rows, float* to) {
    if (rows == R)
      for (int i = 0; i < R; ++i) to[i] = static_cast<float>(from[i]);
    else
      for (std::int64_t i = 0; i < rows; ++i) to[i] = static_cast<float>(from[i]);
  }
};

#endif
