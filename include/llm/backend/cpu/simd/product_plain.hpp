// The same products as product.hpp in scalar code, for compilers without vector types.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH == 1

struct Product {
  static constexpr std::int64_t block_rows = 4, block_cols = 16;

  static std::int64_t padded(std::int64_t cols) { return cols; }

  template <class T>
  static void pack_panel(Matrix<T> b, std::int64_t K, std::int64_t cols, float* packed) {
    for (std::int64_t k = 0; k < K; ++k)
      for (std::int64_t j = 0; j < cols; ++j) packed[k * cols + j] = static_cast<float>(b.data[k * b.row_stride + j * b.col_stride]);
  }

  static void pack_rows(Matrix<float> a, std::int64_t M, std::int64_t K, float* packed) {
    for (std::int64_t i = 0; i < M; ++i)
      for (std::int64_t k = 0; k < K; ++k)
        packed[(i / block_rows * K + k) * block_rows + i % block_rows] = a.data[i * a.row_stride + k * a.col_stride];
  }

  static void multiply_panel(std::int64_t M, std::int64_t cols, std::int64_t K, const float* rows, std::int64_t row_stride,
                             bool rows_packed, const float* panel, std::int64_t wide, float* c, std::int64_t c_stride, bool add) {
    for (std::int64_t i = 0; i < M; ++i) {
      const float* row = rows_packed ? rows + i / block_rows * K * block_rows + i % block_rows : rows + i * row_stride;
      const std::int64_t step = rows_packed ? block_rows : 1;
      float sums[block_cols] = {};
      for (std::int64_t k = 0; k < K; ++k)
        for (std::int64_t j = 0; j < cols; ++j) sums[j] += row[k * step] * panel[k * wide + j];
      for (std::int64_t j = 0; j < cols; ++j) c[i * c_stride + j] = add ? c[i * c_stride + j] + sums[j] : sums[j];
    }
  }
};

#endif
