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

  template <class T>
  static LeftView<float> pack_left(Matrix<T> a, std::int64_t M, std::int64_t K, float* packed) {
    for (std::int64_t i = 0; i < M; ++i)
      for (std::int64_t k = 0; k < K; ++k) packed[i * K + k] = static_cast<float>(a.data[i * a.row_stride + k * a.col_stride]);
    return {packed, K, 1, 0};
  }

  /// c[M, cols] = or += a[M, K] b, with b packed by pack_panel.
  static void multiply(std::int64_t M, std::int64_t cols, std::int64_t K, LeftView<float> a, const float* panel, std::int64_t wide,
                       const float* before, std::int64_t before_stride, float* c, std::int64_t c_stride, Ahead = {}) {
    for (std::int64_t i = 0; i < M; ++i) {
      float sums[block_cols] = {};
      for (std::int64_t k = 0; k < K; ++k)
        for (std::int64_t j = 0; j < cols; ++j) sums[j] += a.data[i * a.row_stride + k * a.depth_stride] * panel[k * wide + j];
      for (std::int64_t j = 0; j < cols; ++j) c[i * c_stride + j] = before == nullptr ? sums[j] : before[i * before_stride + j] + sums[j];
    }
  }
};

#endif
