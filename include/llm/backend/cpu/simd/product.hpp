// Packed matrix products: a right operand packed into panels, and the kernel that multiplies rows by a panel.
//
// The layout follows Goto and van de Geijn, "Anatomy of high-performance matrix multiplication": a panel of the right operand stays in
// the first cache while all rows pass by; a block of rows x columns of the result stays in registers over the whole depth.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH > 1

template <int Step, std::size_t... I>
LLM_SIMD void exchange(vf& a, vf& b, std::index_sequence<I...>) {
  const vf first =
      __builtin_shufflevector(a, b, (static_cast<int>(I) & Step ? width + static_cast<int>(I) - Step : static_cast<int>(I))...);
  b = __builtin_shufflevector(a, b, (static_cast<int>(I) & Step ? width + static_cast<int>(I) : static_cast<int>(I) + Step)...);
  a = first;
}
template <int Step, std::size_t... I>
LLM_SIMD void transpose_steps(vf (&rows)[width], std::index_sequence<I...> lanes) {
  ((static_cast<int>(I) & Step ? void() : exchange<Step>(rows[I], rows[(I + Step) % width], lanes)), ...);
  if constexpr (Step > 1) transpose_steps<Step / 2>(rows, lanes);
}
/// to[j * to_stride + i] = from[min(i, lines - 1)][j] for a square of width x width.
template <class T, std::size_t... I>
LLM_SIMD void transpose_square(const T* from, std::int64_t stride, std::int64_t lines, float* to, std::int64_t to_stride,
                               std::index_sequence<I...> lanes) {
  vf rows[width] = {load(from + (std::min)(static_cast<std::int64_t>(I), lines - 1) * stride)...};
  transpose_steps<width / 2>(rows, lanes);
  (store(to + static_cast<std::int64_t>(I) * to_stride, rows[I]), ...);
}

struct Product {
  static constexpr std::int64_t block_rows = LLM_SIMD_BLOCK_ROWS, block_cols = LLM_SIMD_BLOCK_VECTORS * width;

  static std::int64_t padded(std::int64_t cols) { return (cols + width - 1) / width * width; }

  /// Packs at most block_cols columns of b, K deep, as packed[k * padded(cols) + j]. Columns of padding hold what the last one holds.
  template <class T>
  LLM_KERNEL static void pack_panel(Matrix<T> b, std::int64_t K, std::int64_t cols, float* packed) {
    const std::int64_t wide = padded(cols);
    if (b.col_stride == 1) {
      for (std::int64_t k = 0; k < K; ++k)
        for (std::int64_t j = 0; j < cols; j += width) store(packed + k * wide + j, load(b.data + k * b.row_stride + j, cols - j));
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

  /// Packs M rows of a, K deep, where a is dense along its columns: blocks of block_rows, each packed[k * block_rows + i].
  LLM_KERNEL static void pack_rows(Matrix<float> a, std::int64_t M, std::int64_t K, float* packed) {
    for (std::int64_t k = 0; k < K; ++k)
      for (std::int64_t i = 0; i < M; i += block_rows) {
        const float* from = a.data + k * a.col_stride + i;
        float* to = packed + i * K + k * block_rows;
        if (i + block_rows <= M)
          __builtin_memcpy(to, from, block_rows * sizeof(float));
        else
          for (std::int64_t r = 0; r < block_rows; ++r) to[r] = i + r < M ? from[r] : 0.0f;
      }
  }

  /// c[M, cols] = or += a[M, K] b, with b packed by pack_panel, `wide` floats a row, of which the first cols count. `rows` is a itself,
  /// dense along its rows, or what pack_rows made of it.
  LLM_KERNEL static void multiply_panel(std::int64_t M, std::int64_t cols, std::int64_t K, const float* rows, std::int64_t row_stride,
                                        bool rows_packed, const float* panel, std::int64_t wide, float* c, std::int64_t c_stride,
                                        bool add) {
    if (cols > 2 * width) return multiply<LLM_SIMD_BLOCK_VECTORS>(M, cols, K, rows, row_stride, rows_packed, panel, wide, c, c_stride, add);
    if (cols > width) return multiply<2>(M, cols, K, rows, row_stride, rows_packed, panel, wide, c, c_stride, add);
    multiply<1>(M, cols, K, rows, row_stride, rows_packed, panel, wide, c, c_stride, add);
  }

 private:
  static constexpr int R = LLM_SIMD_BLOCK_ROWS;

  struct PackedRows {
    const float* data;
    template <int I>
    LLM_SIMD float at(std::int64_t k) const {
      return data[k * R + I];
    }
  };
  struct PlainRows {
    const float* row[R];
    template <int I>
    LLM_SIMD float at(std::int64_t k) const {
      return row[I][k];
    }
  };

  template <int V>
  LLM_SIMD static void add_products(vf (&sums)[V], vf a, const vf (&b)[V]) {
    sums[0] = multiply_add(a, b[0], sums[0]);
    if constexpr (V > 1) sums[1] = multiply_add(a, b[1], sums[1]);
    if constexpr (V > 2) sums[2] = multiply_add(a, b[2], sums[2]);
  }

  template <int V, class Left, std::size_t... I>
  LLM_SIMD static void sum_products(vf (&sums)[R][V], std::int64_t K, const Left& left, const float* panel, std::int64_t wide,
                                    std::index_sequence<I...>) {
    for (std::int64_t k = 0; k < K; ++k) {
      vf b[V];
      b[0] = load(panel);
      if constexpr (V > 1) b[1] = load(panel + width);
      if constexpr (V > 2) b[2] = load(panel + 2 * width);
      panel += wide;
      (add_products<V>(sums[I], splat(left.template at<static_cast<int>(I)>(k)), b), ...);
    }
  }

  template <int V, std::size_t... I>
  LLM_SIMD static void write(const vf (&sums)[R][V], float* c, std::int64_t stride, bool add, std::index_sequence<I...>) {
    (write_row<V>(sums[I], c + static_cast<std::int64_t>(I) * stride, add), ...);
  }
  template <int V>
  LLM_SIMD static void write_row(const vf (&sums)[V], float* c, bool add) {
    store(c, add ? load(c) + sums[0] : sums[0]);
    if constexpr (V > 1) store(c + width, add ? load(c + width) + sums[1] : sums[1]);
    if constexpr (V > 2) store(c + 2 * width, add ? load(c + 2 * width) + sums[2] : sums[2]);
  }

  template <int V, class Left>
  LLM_SIMD static void block(std::int64_t rows, std::int64_t cols, std::int64_t K, const Left& left, const float* panel, std::int64_t wide,
                             float* c, std::int64_t stride, bool add) {
    constexpr auto all = std::make_index_sequence<R>{};
    vf sums[R][V] = {};
    sum_products<V>(sums, K, left, panel, wide, all);
    if (rows == R && cols == V * width) return write<V>(sums, c, stride, add, all);
    alignas(64) float edge[R * V * width];
    write<V>(sums, edge, V * width, false, all);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const float value = edge[i * V * width + j];
        c[i * stride + j] = add ? c[i * stride + j] + value : value;
      }
  }

  template <int V>
  LLM_SIMD static void multiply(std::int64_t M, std::int64_t cols, std::int64_t K, const float* a, std::int64_t a_stride, bool packed,
                                const float* panel, std::int64_t wide, float* c, std::int64_t stride, bool add) {
    for (std::int64_t i = 0; i < M; i += R) {
      const std::int64_t rows = (std::min)(static_cast<std::int64_t>(R), M - i);
      if (packed) {
        block<V>(rows, cols, K, PackedRows{a + i * K}, panel, wide, c + i * stride, stride, add);
      } else {
        PlainRows left;
        for (int r = 0; r < R; ++r) left.row[r] = a + (std::min)(i + r, M - 1) * a_stride;
        block<V>(rows, cols, K, left, panel, wide, c + i * stride, stride, add);
      }
    }
  }
};

#endif
