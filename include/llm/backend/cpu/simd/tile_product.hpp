// Products of tiles that lie in a thread's own cache, without packing: what attention is made of.
#if defined(LLM_SIMD_WIDTH)

/// Where a product goes: c = product, or with `add` c * before[i] + product, times after[i * after_step]. A null factor is 1.
struct TileResult {
  float* data;
  std::int64_t stride;
  bool add = false;
  const float* before = nullptr;
  const float* after = nullptr;
  std::int64_t after_step = 1;
};

struct TileProduct {
  /// Rows of a result that stay in registers together.
  static constexpr std::int32_t tile_rows = width == 16 ? 8 : 4;

  /// Columns of scores are computed in units that hold whole vectors, and whole blocks of rows of a product that reads them as columns.
  static constexpr std::int32_t column_unit = (std::max)(static_cast<std::int32_t>(width), tile_rows);
  static constexpr std::int32_t columns_from(std::int32_t i) { return i / column_unit * column_unit; }
  static constexpr std::int32_t columns_to(std::int32_t i) { return columns_from(i + column_unit - 1); }

  static constexpr std::int32_t vectors_of(std::int64_t n) { return static_cast<std::int32_t>(ceil_div(n, width)); }

  /// c[i, :] for at most tile_rows rows i and a number of vectors: the sum over k < K, in order, of a(i, k) times row k of b. a(i, k) is
  /// a[i * a_stride + k], or with Columns a[k * a_stride + i], of which a whole block of rows can be read.
  template <bool Columns>
  LLM_KERNEL static void multiply_rows(std::int32_t rows, std::int32_t vectors, std::int64_t K, const float* a, std::int64_t a_stride,
                                       const float* b, std::int64_t b_stride, TileResult c) {
    while (vectors > 0) {
      const std::int32_t some = vectors == 4 ? 2 : (std::min)(vectors, 3);
      if (some == 3)
        block<3, Columns>(rows, K, a, a_stride, b, b_stride, c);
      else if (some == 2)
        block<2, Columns>(rows, K, a, a_stride, b, b_stride, c);
      else
        block<1, Columns>(rows, K, a, a_stride, b, b_stride, c);
      vectors -= some;
      b += some * width;
      c.data += some * width;
    }
  }

  /// to[e * tile_size + i] = from[i * stride + e] for at most a tile of rows, E wide. Columns up to a whole vector repeat the last row;
  /// rows up to a whole vector are written too.
  template <class T>
  LLM_KERNEL static void transpose_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t E, float* to) {
    constexpr auto lanes = std::make_index_sequence<width>{};
    for (std::int64_t i = 0; i < rows; i += width) {
      const T* row[width];
      for (std::int64_t r = 0; r < width; ++r) row[r] = from + (std::min)(i + r, rows - 1) * stride;
      std::int64_t e = 0;
      for (; e + width <= E; e += width) transpose_square(row, e, width, to + e * tile_size + i, lanes);
      if (e < E) transpose_square(row, e, E - e, to + e * tile_size + i, lanes);
    }
  }

  /// to[i * wide + e] = from[i * stride + e], zero from E to a whole vector.
  template <class T>
  LLM_KERNEL static void copy_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t E, float* to, std::int64_t wide) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t e = 0; e < E; e += width) store(to + i * wide + e, load(from + i * stride + e, E - e));
  }

 private:
  static constexpr int R = tile_rows;

  template <class T, std::size_t... I>
  LLM_SIMD static void transpose_square(const T* const (&row)[width], std::int64_t e, std::int64_t left, float* to,
                                        std::index_sequence<I...>) {
    vf rows[width] = {load(row[I] + e, left)...};
    transpose(rows);
    (store(to + static_cast<std::int64_t>(I) * tile_size, rows[I]), ...);
  }

  struct RowsOf {
    const float* row[R];
    template <int I>
    LLM_SIMD float at(std::int64_t k) const {
      return row[I][k];
    }
  };
  struct ColumnsOf {
    const float* data;
    std::int64_t stride;
    template <int I>
    LLM_SIMD float at(std::int64_t k) const {
      return data[k * stride + I];
    }
  };

  template <int V, class Left, std::size_t... I>
  LLM_SIMD static void sum_products(vf (&sums)[R][V], std::int64_t K, const Left& left, const float* b, std::int64_t b_stride,
                                    std::index_sequence<I...>) {
    for (std::int64_t k = 0; k < K; ++k) {
      vf row[V];
      load_row(row, b);
      b += b_stride;
      (add_products<Floats>(sums[I], splat(left.template at<static_cast<int>(I)>(k)), row), ...);
    }
  }

  template <int V>
  LLM_SIMD static void write_row(const vf (&sums)[V], std::int64_t i, const TileResult& c) {
    float* to = c.data + i * c.stride;
    if (c.before == nullptr && c.after == nullptr) {
      for (int v = 0; v < V; ++v, to += width) store(to, c.add ? load(to) + sums[v] : sums[v]);
      return;
    }
    const float after = c.after == nullptr ? 1.0f : c.after[i * c.after_step];
    const float before = c.before == nullptr ? 1.0f : c.before[i];
    for (int v = 0; v < V; ++v, to += width) store(to, (c.add ? multiply_add(load(to), splat(before), sums[v]) : sums[v]) * after);
  }

  template <int V, bool Columns, std::size_t... I>
  LLM_SIMD static void block(std::int32_t rows, std::int64_t K, const float* a, std::int64_t a_stride, const float* b,
                             std::int64_t b_stride, const TileResult& c, std::index_sequence<I...> all) {
    vf sums[R][V] = {};
    if constexpr (Columns)
      sum_products<V>(sums, K, ColumnsOf{a, a_stride}, b, b_stride, all);
    else
      sum_products<V>(sums, K, RowsOf{{(a + (std::min)(static_cast<std::int32_t>(I), rows - 1) * a_stride)...}}, b, b_stride, all);
    ((static_cast<std::int32_t>(I) < rows ? write_row<V>(sums[I], static_cast<std::int64_t>(I), c) : void()), ...);
  }
  template <int V, bool Columns>
  LLM_SIMD static void block(std::int32_t rows, std::int64_t K, const float* a, std::int64_t a_stride, const float* b,
                             std::int64_t b_stride, const TileResult& c) {
    block<V, Columns>(rows, K, a, a_stride, b, b_stride, c, std::make_index_sequence<static_cast<std::size_t>(R)>{});
  }
};

#endif
