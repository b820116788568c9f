// The row operations of attention: softmax over a tile of scores, its gradient, and the weighted sum of values.
#if defined(LLM_SIMD_WIDTH)

struct AttentionRows : TileProduct {
  /// scores[key * tile_size + query] = scale keys[key] . query, wherever a query sees a key; queries[e * tile_size + query].
  LLM_KERNEL static void score_tile(const TileView& view, std::int64_t E, const float* keys, std::int64_t key_stride, const float* queries,
                                    const float* scale, float* scores) {
    for (std::int32_t s = 0; s < view.cols; s += tile_rows) {
      const std::int32_t some = (std::min)(tile_rows, view.cols - s);
      const std::int32_t from = view.rows_from(s) / width, to = vectors_of(view.rows_to(s + some - 1));
      multiply_rows<false>(some, to - from, E, keys + s * key_stride, key_stride, queries + from * width, tile_size,
                           {scores + s * tile_size + from * width, tile_size, false, nullptr, scale, 0});
    }
  }

  /// Turns scores [key][query] into weights e^(score - largest), 0 where a query does not see a key.
  LLM_KERNEL static void softmax_tile(const TileView& view, float* scores, const RunningSoftmax& running) {
    for (std::int32_t i = 0; i < view.rows; i += width) softmax_lanes(view, i, scores + i, running);
  }

  /// out[query] = or += correction[query] times, the sum over keys of weight times value; then times `after` where that is not null.
  LLM_KERNEL static void value_tile(const TileView& view, std::int64_t E, const float* weights, const float* values,
                                    std::int64_t value_stride, float* out, std::int64_t stride, bool add, const float* correction,
                                    const float* after) {
    for (std::int32_t i = 0; i < view.rows; i += tile_rows) {
      const std::int32_t some = (std::min)(tile_rows, view.rows - i), from = view.first(i), n = view.last(i + some - 1) - from;
      multiply_rows<true>(some, vectors_of(E), (std::max)(n, 0), weights + from * tile_size + i, tile_size, values + from * value_stride,
                          value_stride, {out + i * stride, stride, add, correction + i, after == nullptr ? nullptr : after + i});
    }
  }

  /// largest + log(total), and 1 / total or 0 for a query that saw nothing, over total; both NaN for one that saw scores of -inf alone.
  LLM_KERNEL static void finish_softmax(std::int64_t rows, const RunningSoftmax& running) {
    for (std::int64_t i = 0; i < rows; i += width) {
      const vf largest = load(running.largest + i), sum = load(running.total + i);
      const vf total = both(sum == splat(0), largest == splat(least_score)) ? splat(std::numeric_limits<float>::quiet_NaN()) : sum;
      store(running.largest + i, largest + logarithm(total));
      store(running.total + i, total == splat(0) ? total : 1.0f / total);
    }
  }

  /// scores[query * tile_size + key] = row `query` . key, times scale where that is not null, wherever a query sees a key;
  /// keys[e * tile_size + key]. Meanwhile the rows at `next`, in memory, are fetched.
  template <class T>
  LLM_KERNEL static void gradient_score_tile(const TileView& view, std::int64_t E, const float* rows, std::int64_t stride,
                                             const float* keys, const float* scale, float* scores, const T* next,
                                             std::int64_t next_stride) {
    for (std::int32_t i = 0; i < view.rows; i += tile_rows) {
      const std::int32_t some = (std::min)(tile_rows, view.rows - i);
      prefetch_rows(next, i, next_stride, some, E);
      const std::int32_t from = columns_from(view.first(i)), to = columns_to(view.last(i + some - 1));
      multiply_rows<false>(some, (to - from) / width, E, rows + i * stride, stride, keys + from, tile_size,
                           {scores + i * tile_size + from, tile_size, false, nullptr, scale, 0});
    }
  }

  /// Turns scores [query][key] into weights p = e^(score - lse), and dweights into the gradient of query . key, p (dweights - dot) scale;
  /// both 0 where a query does not see a key. The queries [alone, alone_end) see one key in all: their weight is 1 whatever its score,
  /// and the gradient 0 to the last bit, as if dot were rounded like dweights.
  LLM_KERNEL static void weights_and_gradient(const TileView& view, float* scores, float* dweights, float scale, const float* lse,
                                              const float* dots, std::int64_t alone, std::int64_t alone_end) {
    for (std::int32_t block = 0; block < view.rows; block += tile_rows) {  // gradient_score_tile takes as many
      const std::int32_t rows = (std::min)(tile_rows, view.rows - block), last = block + rows - 1;
      float dot[tile_rows];
      for (std::int32_t i = block; i <= last; ++i) {
        const bool sees_one = i >= alone && i < alone_end && view.first(i) < view.last(i);
        dot[i - block] = sees_one ? dweights[i * tile_size + view.first(i)] : dots[i];
      }
      const std::int32_t from = columns_from(view.first(block)), to = columns_to(view.last(last));
      for (std::int32_t j = from; j < to; j += width) {
        const std::int64_t at = block * tile_size + j;
        if (j < view.first(last) || j + width > view.last(block))
          gradient_columns<true>(view, block, rows, j, scores + at, dweights + at, scale, lse + block, dot);
        else
          gradient_columns<false>(view, block, rows, j, scores + at, dweights + at, scale, lse + block, dot);
      }
    }
  }

  /// out[key] = or += the sum over queries of factors[query * tile_size + key] times row `query`.
  LLM_KERNEL static void key_gradient_tile(const TileView& view, std::int64_t E, const float* factors, const float* rows,
                                           std::int64_t stride, float* out, std::int64_t out_stride, bool add) {
    for (std::int32_t s = 0; s < view.cols; s += tile_rows) {
      const std::int32_t some = (std::min)(tile_rows, view.cols - s), from = view.rows_from(s), n = view.rows_to(s + some - 1) - from;
      if (n <= 0 && add) continue;
      multiply_rows<true>(some, vectors_of(E), (std::max)(n, 0), factors + from * tile_size + s, tile_size, rows + from * stride, stride,
                          {out + s * out_stride, out_stride, add});
    }
  }

  /// out[query] += the sum over keys of factors[query * tile_size + key] times row `key`.
  LLM_KERNEL static void query_gradient_tile(const TileView& view, std::int64_t E, const float* factors, const float* rows,
                                             std::int64_t stride, float* out, std::int64_t out_stride) {
    for (std::int32_t i = 0; i < view.rows; i += tile_rows) {
      const std::int32_t some = (std::min)(tile_rows, view.rows - i), from = view.first(i), n = view.last(i + some - 1) - from;
      if (n <= 0) continue;
      multiply_rows<false>(some, vectors_of(E), n, factors + i * tile_size + from, tile_size, rows + from * stride, stride,
                           {out + i * out_stride, out_stride, true});
    }
  }

  /// Turns the n scores of one query into weights e^(scale score - largest), with the largest and the total written; see least_score.
  LLM_KERNEL static void softmax_row(float* scores, std::int64_t n, float scale, float& largest, float& total) {
    vf most = splat(n > 0 ? least_score : -std::numeric_limits<float>::infinity());
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      const vf s = load(scores + i) * scale;
      store(scores + i, s);
      most = larger(s, most);
    }
    largest = horizontal_max(most);
    for (; i < n; ++i) {
      scores[i] *= scale;
      if (scores[i] > largest) largest = scores[i];
    }
    vf sum = splat(0);
    for (i = 0; i + width <= n; i += width) {
      const vf p = exponential_of_negative(load(scores + i) - largest);
      store(scores + i, p);
      sum += p;
    }
    total = horizontal_sum(sum);
    for (; i < n; ++i) {
      float p[width];
      store(p, exponential_of_negative(splat(scores[i] - largest)));
      scores[i] = p[0];
      total += p[0];
    }
  }

  /// sums[E] += sum over n rows of v of weight times row.
  template <class KV>
  LLM_KERNEL static void add_weighted_sum(const float* weights, std::int64_t n, const KV* v, std::int64_t stride, float* sums,
                                          std::int64_t E) {
    std::int64_t e = 0;
    for (; e + 4 * width <= E; e += 4 * width) {
      vf a = load(sums + e), b = load(sums + e + width), c = load(sums + e + 2 * width), d = load(sums + e + 3 * width);
      for (std::int64_t s = 0; s < n; ++s) {
        const vf w = splat(weights[s]);
        const KV* row = v + s * stride + e;
        a = multiply_add(w, load(row), a);
        b = multiply_add(w, load(row + width), b);
        c = multiply_add(w, load(row + 2 * width), c);
        d = multiply_add(w, load(row + 3 * width), d);
      }
      store(sums + e, a);
      store(sums + e + width, b);
      store(sums + e + 2 * width, c);
      store(sums + e + 3 * width, d);
    }
    for (; e < E; e += width) {
      vf a = load(sums + e, E - e);
      for (std::int64_t s = 0; s < n; ++s) a = multiply_add(splat(weights[s]), load(v + s * stride + e, E - e), a);
      store(sums + e, a, E - e);
    }
  }

  /// Fetches the rows [first, first + n) of E elements, which may lie past the end of what there is.
  template <class T>
  LLM_KERNEL static void prefetch_rows([[maybe_unused]] const T* rows, [[maybe_unused]] std::int64_t first,
                                       [[maybe_unused]] std::int64_t stride, [[maybe_unused]] std::int64_t n,
                                       [[maybe_unused]] std::int64_t E) {
#if LLM_SIMD_WIDTH > 1
    constexpr std::int64_t bytes = sizeof(T);
    for (std::int64_t i = first; i < first + n; ++i)
      for (std::int64_t e = 0; e < E; e += 64 / bytes) prefetch(rows, (i * stride + e) * bytes);
#endif
  }

  /// out[i] = a[i, :] . b[i, :] for rows of n elements, n > 0.
  template <class T>
  LLM_KERNEL static void dot_of_rows(const T* a, const T* b, std::int64_t stride, std::int64_t rows, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < rows; i += width)
      store(out + i, dots_of_rows(a + i * stride, b + i * stride, stride, rows - i, n, std::make_index_sequence<width>{}), rows - i);
  }

  template <class T>
  LLM_KERNEL static void widen(const T* x, float* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(x + i, n - i), n - i);
  }
  /// y = x * factor, or y += x * factor.
  template <class T>
  LLM_KERNEL static void narrow(const float* x, float factor, T* y, std::int64_t n, bool add) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(x + i, n - i) * factor, n - i, add);
  }

 private:
  template <std::size_t... I>
  LLM_SIMD static vi numbers(std::index_sequence<I...>) {
    return vi{static_cast<std::int32_t>(I)...};
  }
  LLM_SIMD static vi lane_numbers() { return numbers(std::make_index_sequence<width>{}); }

  /// dot_of_rows for as many rows as a vector has lanes; beyond `rows`, the last one again.
  template <class T, std::size_t... I>
  LLM_SIMD static vf dots_of_rows(const T* a, const T* b, std::int64_t stride, std::int64_t rows, std::int64_t n,
                                  std::index_sequence<I...>) {
    vf sums[width] = {row_products(a + (std::min)(static_cast<std::int64_t>(I), rows - 1) * stride,
                                   b + (std::min)(static_cast<std::int64_t>(I), rows - 1) * stride, n)...};
    transpose(sums);
    vf total = sums[0];
    for (int i = 1; i < width; ++i) total += sums[i];
    return total;
  }
  template <class T>
  LLM_SIMD static vf row_products(const T* a, const T* b, std::int64_t n) {
    vf sum = load(a, n) * load(b, n);
    for (std::int64_t e = width; e < n; e += width) sum = multiply_add(load(a + e, n - e), load(b + e, n - e), sum);
    return sum;
  }

  /// weights_and_gradient for the vector of keys from j on, of the rows from `block` on.
  template <bool Masked>
  LLM_SIMD static void gradient_columns(const TileView& view, std::int32_t block, std::int32_t rows, std::int32_t j, float* scores,
                                        float* dweights, float scale, const float* lse, const float* dot) {
    const vi number = lane_numbers() + j, key = number < splat_int(view.cols) ? number : splat_int(view.end + tile_size);  // seen by none
    vi begin = splat_int(view.begin + (view.begin_moves ? block : 0)), end = splat_int(view.end + (view.end_moves ? block : 0));
    for (std::int32_t i = 0; i < rows; ++i, scores += tile_size, dweights += tile_size) {
      vf p = exponential_of_negative(load(scores) - lse[i]);
      vf ds = p * (load(dweights) - dot[i]) * scale;
      if constexpr (Masked) {
        const auto seen = both(key >= begin, key < end);
        p = seen ? p : splat(0);
        ds = seen ? ds : splat(0);
        begin += view.begin_moves ? 1 : 0;
        end += view.end_moves ? 1 : 0;
      }
      store(scores, p);
      store(dweights, ds);
    }
  }

  /// softmax_tile for one vector of queries from query i on; `scores` begins at the first.
  LLM_SIMD static void softmax_lanes(const TileView& view, std::int32_t i, float* scores, const RunningSoftmax& running) {
    const std::int32_t one = columns_from(i), last = (std::min)(one + column_unit, view.rows) - 1;  // value_tile reads as many
    const std::int32_t from = view.first(one), to = (std::max)(from, view.last(last));
    const std::int32_t all_from = (std::min)(to, view.first(last)), all_to = (std::clamp)(view.last(one), all_from, to);
    const vi lane = lane_numbers() + i;
    const vi begin = view.begin_moves ? lane + view.begin : splat_int(view.begin);
    const vi end = view.end_moves ? lane + view.end : splat_int(view.end);
    const vf before = load(running.largest + i), nothing = splat(-std::numeric_limits<float>::infinity());
    vf most = before;
    for (std::int32_t s = from; s < all_from; ++s) most = larger(hidden(scores + s * tile_size, s, begin, end), most);
    vf second = nothing, third = nothing, fourth = nothing;
    std::int32_t s = all_from;
    for (; s + 4 <= all_to; s += 4) {
      most = larger(load(scores + s * tile_size), most);
      second = larger(load(scores + (s + 1) * tile_size), second);
      third = larger(load(scores + (s + 2) * tile_size), third);
      fourth = larger(load(scores + (s + 3) * tile_size), fourth);
    }
    for (; s < all_to; ++s) most = larger(load(scores + s * tile_size), most);
    for (; s < to; ++s) second = larger(hidden(scores + s * tile_size, s, begin, end), second);
    most = larger(larger(fourth, third), larger(second, most));
    // A query that has seen nothing has no largest score; 0 in its place makes weights of 0, not NaN.
    const auto sees = both(both(end > splat_int(from), begin < splat_int(to)), begin < end);
    most = sees ? larger(most, splat(least_score)) : most;
    const vf shift = most > nothing ? most : splat(0);
    vf sum = splat(0);
    for (s = from; s < to; ++s) {
      const vf p = exponential_of_negative(load(scores + s * tile_size) - shift);
      store(scores + s * tile_size, p);
      sum += p;
    }
    const vf correction = exponential_of_negative(before - shift);
    store(running.correction + i, correction);
    store(running.total + i, multiply_add(load(running.total + i), correction, sum));
    store(running.largest + i, most);
  }

  /// The scores of key s where they are seen, else -inf, which is written in their place.
  LLM_SIMD static vf hidden(float* scores, std::int32_t s, vi begin, vi end) {
    const auto seen = both(splat_int(s) >= begin, splat_int(s) < end);
    const vf score = seen ? load(scores) : splat(-std::numeric_limits<float>::infinity());
    store(scores, score);
    return score;
  }
};

#endif
