// Products with few rows: one dot product for each result, at the speed at which memory gives the weights.
#if defined(LLM_SIMD_WIDTH)
#if LLM_SIMD_WIDTH > 1

struct DotRows {
  /// y[m, n] = x[m, :] . w[n, :] + bias[n], each result by itself: it does not depend on how many rows x and w have.
  template <class Row, class T>
  LLM_KERNEL static void dot_rows(std::int64_t M, std::int64_t N, std::int64_t K, const float* x, std::int64_t x_stride, Row w,
                                  const T* bias, T* y, std::int64_t y_stride) {
    constexpr int many = 4, fewer = width == 16 ? 4 : 2;
    std::int64_t n = 0;
    for (; n + many <= N; n += many) {
      std::int64_t m = 0;
      for (; m + 2 <= M; m += 2)
        for (int i = 0; i < many; i += fewer) dots<2, fewer>(K, x + m * x_stride, x_stride, w, n + i, bias, y + m * y_stride, y_stride);
      for (; m < M; ++m) dots<1, many>(K, x + m * x_stride, x_stride, w, n, bias, y + m * y_stride, y_stride);
    }
    for (; n < N; ++n)
      for (std::int64_t m = 0; m < M; ++m) dots<1, 1>(K, x + m * x_stride, x_stride, w, n, bias, y + m * y_stride, y_stride);
  }

  template <class Row>
  LLM_KERNEL static void decode_row(Row row, float* y, std::int64_t n) {
    for (std::int64_t k = 0; k < n; k += width) store(y + k, row.load_full(k));
  }

 private:
  // Two sums for each result, whatever the block: so a row alone and a row among others are added up in the same order.
  template <int Ms, int Ns, class Row, class T>
  LLM_SIMD static void dots(std::int64_t K, const float* x, std::int64_t x_stride, Row w, std::int64_t n, const T* bias, T* y,
                            std::int64_t y_stride) {
    constexpr auto all = std::make_index_sequence<Ms * Ns>{};
    vf even[Ms * Ns] = {}, odd[Ms * Ns] = {};
    const Row rows[4] = {w.at(n), w.at(n + (Ns > 1)), w.at(n + 2 * (Ns > 2)), w.at(n + 3 * (Ns > 3))};
    std::int64_t k = 0;
    for (; k + 2 * width <= K; k += 2 * width) {
      dots_step<Ns>(even, odd, x + k, x_stride, rows, k, all);
    }
    for (; k < K; k += width) dots_rest<Ns>(even, x + k, x_stride, rows, k, K - k, all);
    write_dots<Ns>(even, odd, bias == nullptr ? nullptr : bias + n, y + n, y_stride, all);
  }
  template <int Ns, int Count, class Row, std::size_t... I>
  LLM_SIMD static void dots_step(vf (&even)[Count], vf (&odd)[Count], const float* x, std::int64_t x_stride, const Row (&rows)[4],
                                 std::int64_t k, std::index_sequence<I...>) {
    (rows[I % Ns].add_pair(k, load(x + static_cast<int>(I) / Ns * x_stride), load(x + static_cast<int>(I) / Ns * x_stride + width), even[I],
                           odd[I]),
     ...);
  }
  template <int Ns, int Count, class Row, std::size_t... I>
  LLM_SIMD static void dots_rest(vf (&sums)[Count], const float* x, std::int64_t x_stride, const Row (&rows)[4], std::int64_t k,
                                 std::int64_t left, std::index_sequence<I...>) {
    ((sums[I] = multiply_add(load(x + static_cast<int>(I) / Ns * x_stride, left), rows[I % Ns].load_some(k, left), sums[I])), ...);
  }
  template <int Ns, int Count, class T, std::size_t... I>
  LLM_SIMD static void write_dots(const vf (&even)[Count], const vf (&odd)[Count], const T* bias, T* y, std::int64_t y_stride,
                                  std::index_sequence<I...>) {
    ((y[static_cast<int>(I) / Ns * y_stride + static_cast<int>(I) % Ns] =
          T(horizontal_sum(even[I] + odd[I]) + (bias == nullptr ? 0.0f : static_cast<float>(bias[I % Ns])))),
     ...);
  }
};

/// Weights are read once from memory: rows further on are fetched while these are multiplied. The address may lie past the end.
LLM_SIMD void prefetch(const void* p, std::int64_t bytes_ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes_ahead)));
}

/// Rows of stored weights for DotRows::dot_rows: at(n) is row n, load_full(k) its elements from k on, add_pair(k, a, b, ...) adds the
/// products of the 2 * width elements from k on with a and b.
template <class T>
struct PlainWeights {
  const T* data;
  std::int64_t stride;
  LLM_SIMD PlainWeights at(std::int64_t n) const { return {data + n * stride, stride}; }
  LLM_SIMD vf load_full(std::int64_t k) const { return load(data + k); }
  LLM_SIMD vf load_some(std::int64_t k, std::int64_t left) const { return load(data + k, left); }
  LLM_SIMD void add_pair(std::int64_t k, vf a, vf b, vf& even, vf& odd) const {
    prefetch(data + k, 4 * stride * static_cast<std::int64_t>(sizeof(T)));
    even = multiply_add(a, load(data + k), even);
    odd = multiply_add(b, load(data + k + width), odd);
  }
};

/// Blocks of 32 signed bytes behind an f16 scale. A vector never crosses a block.
struct Q8Weights {
  static_assert(32 % (2 * width) == 0);
  const std::byte* data;
  std::int64_t stride;  // bytes
  LLM_SIMD Q8Weights at(std::int64_t n) const { return {data + n * stride, stride}; }
  LLM_SIMD vf load_full(std::int64_t k) const { return load_signed_bytes(quants(k)) * scale(k); }
  LLM_SIMD vf load_some(std::int64_t k, std::int64_t) const { return load_full(k); }  // K is a whole number of blocks
  LLM_SIMD void add_pair(std::int64_t k, vf a, vf b, vf& even, vf&) const {  // a pair lies in one block, since 32 % (2 * width) == 0
    prefetch(block(k), 8 * stride);
    even = multiply_add(multiply_add(b, load_signed_bytes(quants(k) + width), a * load_signed_bytes(quants(k))), splat(scale(k)), even);
  }

 private:
  LLM_SIMD const std::byte* block(std::int64_t k) const { return data + (k >> 5) * 34; }
  LLM_SIMD const std::byte* quants(std::int64_t k) const { return block(k) + 2 + (k & 31); }
  LLM_SIMD float scale(std::int64_t k) const {
    std::uint16_t bits;
    __builtin_memcpy(&bits, block(k), 2);
    return half_to_float(bits);
  }
  LLM_SIMD static float half_to_float(std::uint16_t bits) {
#if defined(LLM_SIMD_X86)
    typedef short halves __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps(halves{static_cast<short>(bits)})[0];
#else
    f16 value;
    value.bits = bits;
    return value;
#endif
  }
};

#else

struct DotRows {
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
#endif
