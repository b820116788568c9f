// Products with few rows: one dot product for each result, at the speed at which memory gives the weights.
#if defined(LLM_SIMD_WIDTH)
#if LLM_SIMD_WIDTH > 1

/// Fetches a line of memory that is needed soon. The address may lie past the end.
LLM_SIMD void prefetch(const void* p, std::int64_t bytes_ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes_ahead)));
}

struct DotRows {
  /// y[m, n] = x[m, :] . w[n, :] + bias[n], each result by itself: it does not depend on how many rows x and w have.
  /// One row of x takes rows of floats one after the other, as memory likes it best. Else, and where weights must be widened, some rows
  /// of w at a time share what is loaded of x, stay in the first cache while all rows of x pass by, and the rows after them are fetched.
  template <class Row, class T>
  LLM_KERNEL static void dot_rows(std::int64_t M, std::int64_t N, std::int64_t K, const float* x, std::int64_t x_stride, Row w,
                                  const T* bias, T* y, std::int64_t y_stride) {
    if (M == 1) {
      constexpr int some = Row::pair_bytes == 2 * width * sizeof(float) ? 1 : cols;
      const std::int64_t ahead = some > 1 ? some : (std::max)(std::int64_t{1}, 2048 / (std::max)(std::int64_t{1}, w.row_bytes()));
      for (std::int64_t n = 0; n < N; n += some)
        dots<1, some>(1, (std::min)(N - n, std::int64_t{some}), K, x, x_stride, w, n, n + ahead, bias, y, y_stride);
      return;
    }
    for (std::int64_t n = 0; n < N; n += cols)
      for (std::int64_t m = 0; m < M; m += rows)
        dots<rows, cols>((std::min)(M - m, std::int64_t{rows}), (std::min)(N - n, std::int64_t{cols}), K, x + m * x_stride, x_stride, w, n,
                         m == 0 ? n + cols : -1, bias, y + m * y_stride, y_stride);
  }

 private:
  static constexpr int rows = 2, cols = width == 16 ? 4 : 2;  // two sums for each result, and room for what widens weights

  /// Ms x Ns results, of which ms x ns are wanted; the others repeat the last ones. Two sums for each, whatever the block: so a row alone
  /// and a row among others are added up in the same order. Fetches rows of w from `next` on unless it is negative.
  template <int Ms, int Ns, class Row, class T>
  LLM_SIMD static void dots(std::int64_t ms, std::int64_t ns, std::int64_t K, const float* x, std::int64_t x_stride, Row w, std::int64_t n,
                            std::int64_t next, const T* bias, T* y, std::int64_t y_stride) {
    constexpr auto all_rows = std::make_index_sequence<Ms>{};
    constexpr auto all_cols = std::make_index_sequence<Ns>{};
    const float* from[Ms];
    Row row[Ns];
    for (int i = 0; i < Ms; ++i) from[i] = x + (std::min)(std::int64_t{i}, ms - 1) * x_stride;
    for (int i = 0; i < Ns; ++i) row[i] = w.at(n + (std::min)(std::int64_t{i}, ns - 1));
    vf even[Ms][Ns] = {}, odd[Ms][Ns] = {};
    std::int64_t k = 0, ahead = 0;
    const std::int64_t distance = (next - n) * w.row_bytes();
    for (; k + 2 * width <= K; k += 2 * width) {
      if (next >= 0)
        for (int line = 0; line < Ns * Row::pair_bytes; line += 64) prefetch(row[0].data, distance + ahead + line);
      ahead += Ns * Row::pair_bytes;
      add_products<Ms, Ns>(even, odd, from, row, k, all_rows, all_cols);
    }
    for (; k < K; k += width) add_rest<Ms, Ns>(even, from, row, k, K - k, all_rows, all_cols);
    if constexpr (Ms * Ns == 1)
      y[n] = T(horizontal_sum(even[0][0] + odd[0][0]) + (bias == nullptr ? 0.0f : static_cast<float>(bias[n])));
    else
      write<Ms, Ns>(even, odd, ms, ns, bias == nullptr ? nullptr : bias + n, y + n, y_stride, std::make_index_sequence<Ms * Ns>{});
  }
  template <int Ms, int Ns, class Row, std::size_t... I, std::size_t... J>
  LLM_SIMD static void add_products(vf (&even)[Ms][Ns], vf (&odd)[Ms][Ns], const float* const (&x)[Ms], const Row (&w)[Ns], std::int64_t k,
                                    std::index_sequence<I...> rows_of_x, std::index_sequence<J...>) {
    const vf first[Ms] = {load(x[I] + k)...}, second[Ms] = {load(x[I] + k + width)...};
    (add_col<static_cast<int>(J)>(even, odd, first, second, w[J].pair(k), rows_of_x), ...);
  }
  template <int J, int Ms, int Ns, class Pair, std::size_t... I>
  LLM_SIMD static void add_col(vf (&even)[Ms][Ns], vf (&odd)[Ms][Ns], const vf (&first)[Ms], const vf (&second)[Ms], const Pair& pair,
                               std::index_sequence<I...>) {
    (pair.add(first[I], second[I], even[I][J], odd[I][J]), ...);
  }
  template <int Ms, int Ns, class Row, std::size_t... I, std::size_t... J>
  LLM_SIMD static void add_rest(vf (&sums)[Ms][Ns], const float* const (&x)[Ms], const Row (&w)[Ns], std::int64_t k, std::int64_t left,
                                std::index_sequence<I...> rows_of_x, std::index_sequence<J...>) {
    const vf values[Ms] = {load(x[I] + k, left)...};
    (add_rest_of_col<static_cast<int>(J)>(sums, values, w[J].load_some(k, left), rows_of_x), ...);
  }
  template <int J, int Ms, int Ns, std::size_t... I>
  LLM_SIMD static void add_rest_of_col(vf (&sums)[Ms][Ns], const vf (&x)[Ms], vf w, std::index_sequence<I...>) {
    ((sums[I][J] = multiply_add(x[I], w, sums[I][J])), ...);
  }

  template <int Ms, int Ns, class T, std::size_t... I>
  LLM_SIMD static void write(const vf (&even)[Ms][Ns], const vf (&odd)[Ms][Ns], std::int64_t ms, std::int64_t ns, const T* bias, T* y,
                             std::int64_t y_stride, std::index_sequence<I...>) {
    const vf sums[Ms * Ns] = {even[I / Ns][I % Ns] + odd[I / Ns][I % Ns]...};
    float all[width];
    store(all, sums_of_lanes<width>(sums));
    if (bias != nullptr)
      for (std::int64_t i = 0; i < ms; ++i)
        for (std::int64_t j = 0; j < ns; ++j) all[i * Ns + j] += static_cast<float>(bias[j]);
    T rounded[width];
    store(rounded, load(all));
    for (std::int64_t i = 0; i < ms; ++i)
      for (std::int64_t j = 0; j < ns; ++j) y[i * y_stride + j] = rounded[i * Ns + j];
  }

  /// Lane i of the result is the sum of v[i]'s lanes, added up as horizontal_sum does. Each vector holds groups of Size lanes to add up.
  template <int Size, std::size_t Count>
  LLM_SIMD static vf sums_of_lanes(const vf (&v)[Count]) {
    static_assert(Count <= width && (Count & (Count - 1)) == 0);
    if constexpr (Size == 1)
      return v[0];
    else if constexpr (Count == 1)
      return sums_of_lanes<Size / 2>({add_halves<Size>(v[0], v[0], std::make_index_sequence<width>{})});
    else
      return sums_of_lanes<Size / 2>(add_pairs<Size>(v, std::make_index_sequence<Count / 2>{}).v);
  }
  template <std::size_t Count>
  struct Vectors {
    vf v[Count];
  };
  template <int Size, std::size_t Count, std::size_t... I>
  LLM_SIMD static Vectors<Count / 2> add_pairs(const vf (&v)[Count], std::index_sequence<I...>) {
    return {{add_halves<Size>(v[2 * I], v[2 * I + 1], std::make_index_sequence<width>{})...}};
  }
  /// The lower half of each group of a, then of b, plus the upper half.
  template <int Size, std::size_t... I>
  LLM_SIMD static vf add_halves(vf a, vf b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, lower<Size>(static_cast<int>(I))...) +
           __builtin_shufflevector(a, b, (lower<Size>(static_cast<int>(I)) + Size / 2)...);
  }
  template <int Size>
  static constexpr int lower(int lane) {
    const int at = lane % (width / 2);
    return lane / (width / 2) * width + at / (Size / 2) * Size + at % (Size / 2);
  }
};

/// Rows of stored weights for DotRows: at(n) is row n; load_full(k) its elements from k on, load_some the first `left` of them;
/// pair(k) the 2 * width elements from k on, which are pair_bytes long; its add(a, b, even, odd) adds their products with a and b.
template <class T>
struct PlainWeights {
  static constexpr int pair_bytes = 2 * width * static_cast<int>(sizeof(T));
  const T* data;
  std::int64_t stride;
  LLM_SIMD PlainWeights at(std::int64_t n) const { return {data + n * stride, stride}; }
  LLM_SIMD std::int64_t row_bytes() const { return stride * static_cast<std::int64_t>(sizeof(T)); }
  LLM_SIMD vf load_full(std::int64_t k) const { return load(data + k); }
  LLM_SIMD vf load_some(std::int64_t k, std::int64_t left) const { return load(data + k, left); }
  struct Pair {
    vf first, second;
    LLM_SIMD void add(vf a, vf b, vf& even, vf& odd) const {
      even = multiply_add(a, first, even);
      odd = multiply_add(b, second, odd);
    }
  };
  LLM_SIMD Pair pair(std::int64_t k) const { return {load(data + k), load(data + k + width)}; }
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
};

template <class T>
struct PlainWeights {
  const T* data;
  std::int64_t stride;
  PlainWeights at(std::int64_t n) const { return {data + n * stride, stride}; }
  float load_full(std::int64_t k) const { return static_cast<float>(data[k]); }
};

#endif
#endif
