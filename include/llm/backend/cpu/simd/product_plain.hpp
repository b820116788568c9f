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

  template <class Row, class T>
  static void dot_rows(std::int64_t M, std::int64_t N, std::int64_t K, const float* x, std::int64_t x_stride, Row w, const T* bias, T* y,
                       std::int64_t y_stride) {
    for (std::int64_t n = 0; n < N; ++n) {
      const Row row = w.at(n);
      for (std::int64_t m = 0; m < M; ++m) {
        float sum = 0;
        for (std::int64_t k = 0; k < K; ++k) sum += x[m * x_stride + k] * row.load_full(k);
        y[m * y_stride + n] = T(bias == nullptr ? sum : sum + static_cast<float>(bias[n]));
      }
    }
  }

  template <class Row>
  static void decode_row(Row row, float* y, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) y[k] = row.load_full(k);
  }
};

template <class T>
struct PlainWeights {
  const T* data;
  std::int64_t stride;
  PlainWeights at(std::int64_t n) const { return {data + n * stride, stride}; }
  float load_full(std::int64_t k) const { return static_cast<float>(data[k]); }
};

struct Q8Weights {
  const std::byte* data;
  std::int64_t stride;  // bytes
  Q8Weights at(std::int64_t n) const { return {data + n * stride, stride}; }
  float load_full(std::int64_t k) const {
    BlockQ8_0 block;
    std::memcpy(&block, data + k / 32 * 34, sizeof(block));
    return static_cast<float>(block.scale) * static_cast<float>(block.q[k % 32]);
  }
};

#endif
