// Softmax, cross-entropy and norms, row by row.
#if defined(LLM_SIMD_WIDTH)

/// The largest element that is a number; NaN when there is none, but for -inf.
template <class T>
LLM_SIMD float largest_of(const T* x, std::int64_t n) {
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  vf largest = splat(nothing);
  std::int64_t i = 0;
  for (; i + width <= n; i += width) largest = larger(load(x + i), largest);  // in this order NaN is passed over
  float result = horizontal_max(largest);
  for (; i < n; ++i) result = (std::max)(result, static_cast<float>(x[i]));
  for (i = 0; i < n && result == nothing; ++i)
    if (static_cast<float>(x[i]) != nothing) result = std::numeric_limits<float>::quiet_NaN();
  return result;
}

/// Sum of e^(x - shift); elements past the end of the row count nothing.
template <class T>
LLM_SIMD float sum_of_exponentials(const T* x, std::int64_t n, float shift) {
  vf total = splat(0);
  std::int64_t i = 0;
  for (; i + width <= n; i += width) total += exponential(load(x + i) - shift);
  float result = horizontal_sum(total);
  if (i < n) {
    float rest[width];
    store(rest, exponential(load(x + i, n - i) - shift));
    for (std::int64_t j = 0; j < n - i; ++j) result += rest[j];
  }
  return result;
}

template <class T>
LLM_SIMD float dot_of(const T* a, const T* b, std::int64_t n) {
  vf total = splat(0);
  for (std::int64_t i = 0; i < n; i += width) total = multiply_add(load(a + i, n - i), load(b + i, n - i), total);
  return horizontal_sum(total);
}

struct Rows {
  template <class T>
  LLM_KERNEL static void softmax_forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* in = x + r * cols;
      T* out = y + r * cols;
      const float largest = largest_of(in, cols);
      const bool empty = largest == -std::numeric_limits<float>::infinity();
      const float shift = empty ? 0.0f : largest;
      const float total = empty ? 1.0f : sum_of_exponentials(in, cols, shift);
      for (std::int64_t c = 0; c < cols; c += width) store(out + c, exponential(load(in + c, cols - c) - shift) / total, cols - c);
    }
  }

  template <class T>
  LLM_KERNEL static void softmax_backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols, bool add) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = r * cols;
      const float dot = dot_of(dy + row, y + row, cols);
      for (std::int64_t c = 0; c < cols; c += width)
        store(dx + row + c, load(y + row + c, cols - c) * (load(dy + row + c, cols - c) - dot), cols - c, add);
    }
  }

  template <class T, class Index>
  LLM_KERNEL static void cross_entropy_forward(const T* logits, const Index* targets, float* losses, float* lse, std::int64_t rows,
                                               std::int64_t V, std::int64_t ignore) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = logits + r * V;
      const float largest = largest_of(row, V);
      const bool empty = largest == -std::numeric_limits<float>::infinity();
      lse[r] = empty ? largest : largest + std::log(sum_of_exponentials(row, V, largest));
      losses[r] = targets[r] == ignore ? 0.0f : lse[r] - static_cast<float>(row[targets[r]]);
    }
  }

  template <class T, class Index>
  LLM_KERNEL static void cross_entropy_backward(const T* logits, const Index* targets, const float* lse, double scale, T* dlogits,
                                                std::int64_t rows, std::int64_t V, std::int64_t ignore) {
    const float factor = static_cast<float>(scale);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = logits + r * V;
      T* out = dlogits + r * V;
      if (targets[r] == ignore) {
        for (std::int64_t c = 0; c < V; ++c) out[c] = T(0.0f);
        continue;
      }
      const float target = static_cast<float>(row[targets[r]]);  // read before it may be overwritten
      for (std::int64_t c = 0; c < V; c += width) store(out + c, exponential(load(row + c, V - c) - lse[r]) * factor, V - c);
      float probability[width];
      store(probability, exponential(splat(target - lse[r])));
      out[targets[r]] = T((probability[0] - 1.0f) * factor);
    }
  }

  template <class T>
  LLM_KERNEL static void rms_norm_forward(const T* x, const T* gain, T* y, float* inv_rms, std::int64_t rows, std::int64_t cols, double eps,
                                          Rounding rounding) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* in = x + r * cols;
      const float inverse = 1.0f / std::sqrt(dot_of(in, in, cols) / static_cast<float>(cols) + static_cast<float>(eps));
      for (std::int64_t c = 0; c < cols; c += width) {
        const vf n = load(in + c, cols - c) * inverse;
        const vf rounded = rounding == Rounding::round_then_gain ? rounded_to(in, n) : n;
        store(y + r * cols + c, rounded * load(gain + c, cols - c), cols - c);
      }
      if (inv_rms != nullptr) inv_rms[r] = inverse;
    }
  }

  /// dx of some rows; adds their share of the gain's gradient to dgain, which is in float.
  template <class T>
  LLM_KERNEL static void rms_norm_backward(const T* dy, const T* x, const T* gain, const float* inv_rms, T* dx, float* dgain,
                                           std::int64_t rows, std::int64_t cols, bool add_dx) {
    std::int64_t r = 0;
    for (; r + together <= rows; r += together) {
      fetch_rows(dy, x, r + together, cols * static_cast<std::int64_t>(sizeof(T)));
      rms_norm_rows<together>(dy + r * cols, x + r * cols, gain, inv_rms + r, dx + r * cols, dgain, cols, add_dx);
    }
    for (; r < rows; ++r) rms_norm_rows<1>(dy + r * cols, x + r * cols, gain, inv_rms + r, dx + r * cols, dgain, cols, add_dx);
  }

  template <class T>
  LLM_KERNEL static void layer_norm_forward(const T* x, const T* gain, const T* bias, T* y, float* mean, float* inv_std, std::int64_t rows,
                                            std::int64_t cols, double eps) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* in = x + r * cols;
      vf total = splat(0);
      for (std::int64_t c = 0; c < cols; c += width) total += load(in + c, cols - c);
      const float average = horizontal_sum(total) / static_cast<float>(cols);
      const float inverse = 1.0f / std::sqrt(squares_about(in, average, cols) / static_cast<float>(cols) + static_cast<float>(eps));
      for (std::int64_t c = 0; c < cols; c += width) {
        const vf n = (load(in + c, cols - c) - average) * inverse;
        store(y + r * cols + c, multiply_add(n, load(gain + c, cols - c), load(bias + c, cols - c)), cols - c);
      }
      if (mean != nullptr) mean[r] = average;
      if (inv_std != nullptr) inv_std[r] = inverse;
    }
  }

  /// dx of some rows; adds their share of the parameters' gradients to dgain and dbias, which are in float.
  template <class T>
  LLM_KERNEL static void layer_norm_backward(const T* dy, const T* x, const T* gain, const float* mean, const float* inv_std, T* dx,
                                             float* dgain, float* dbias, std::int64_t rows, std::int64_t cols, bool add_dx) {
    std::int64_t r = 0;
    for (; r + together <= rows; r += together) {
      fetch_rows(dy, x, r + together, cols * static_cast<std::int64_t>(sizeof(T)));
      layer_norm_rows<together>(dy + r * cols, x + r * cols, gain, mean + r, inv_std + r, dx + r * cols, dgain, dbias, cols, add_dx);
    }
    for (; r < rows; ++r)
      layer_norm_rows<1>(dy + r * cols, x + r * cols, gain, mean + r, inv_std + r, dx + r * cols, dgain, dbias, cols, add_dx);
  }

  /// y[cols] = the sum of `rows` rows of x, which are `stride` apart.
  template <class T, class Y>
  LLM_KERNEL static void column_sums(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, Y* y, bool add) {
    std::int64_t c = 0;
    for (; c + 4 * width <= cols; c += 4 * width) {  // four sums, so that an addition need not wait for the one before
      vf total[4] = {splat(0), splat(0), splat(0), splat(0)};
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t v = 0; v < 4; ++v) total[v] += load(x + r * stride + c + v * width);
      for (std::int64_t v = 0; v < 4; ++v) store(y + c + v * width, total[v], width, add);
    }
    for (; c < cols; c += width) {
      vf total = splat(0);
      for (std::int64_t r = 0; r < rows; ++r) total += load(x + r * stride + c, cols - c);
      store(y + c, total, cols - c, add);
    }
  }

 private:
  /// Rows whose share of a parameter's gradient is added up in a register: one row at a time would wait for the sums of the row before.
  static constexpr std::int64_t together = 4;

  /// Fetches the next rows, of so many bytes: several short ones side by side are not what a CPU fetches by itself. There may be none from
  /// `first` on.
  LLM_SIMD static void fetch_rows([[maybe_unused]] const void* dy, [[maybe_unused]] const void* x, [[maybe_unused]] std::int64_t first,
                                  [[maybe_unused]] std::int64_t bytes) {
#if LLM_SIMD_WIDTH > 1
    for (std::int64_t i = first * bytes; i < (first + together) * bytes; i += 64) prefetch(dy, i), prefetch(x, i);
#endif
  }

  template <std::int64_t R, class T>
  LLM_SIMD static void rms_norm_rows(const T* dy, const T* x, const T* gain, const float* inv_rms, T* dx, float* dgain, std::int64_t cols,
                                     bool add_dx) {
    vf total[R];
    for (std::int64_t r = 0; r < R; ++r) total[r] = splat(0);
    for (std::int64_t c = 0; c < cols; c += width) {
      const vf g = load(gain + c, cols - c);
      vf share = load(dgain + c, cols - c);
      for (std::int64_t r = 0; r < R; ++r) {
        const vf dn = load(dy + r * cols + c, cols - c) * load(x + r * cols + c, cols - c);
        total[r] = multiply_add(dn, g, total[r]);
        share = multiply_add(dn, splat(inv_rms[r]), share);
      }
      store(dgain + c, share, cols - c);
    }
    for (std::int64_t r = 0; r < R; ++r) {
      const float inverse = inv_rms[r], slope = inverse * (horizontal_sum(total[r]) * inverse / static_cast<float>(cols));
      for (std::int64_t c = r * cols, i = 0; i < cols; c += width, i += width) {
        const vf g = load(dy + c, cols - i) * load(gain + i, cols - i);
        store(dx + c, inverse * (g - load(x + c, cols - i) * slope), cols - i, add_dx);
      }
    }
  }

  template <std::int64_t R, class T>
  LLM_SIMD static void layer_norm_rows(const T* dy, const T* x, const T* gain, const float* mean, const float* inv_std, T* dx, float* dgain,
                                       float* dbias, std::int64_t cols, bool add_dx) {
    vf sum_g[R], sum_gn[R];
    for (std::int64_t r = 0; r < R; ++r) sum_g[r] = sum_gn[r] = splat(0);
    for (std::int64_t c = 0; c < cols; c += width) {
      const vf factor = load(gain + c, cols - c);
      vf gain_share = load(dgain + c, cols - c), bias_share = load(dbias + c, cols - c);
      for (std::int64_t r = 0; r < R; ++r) {
        const vf up = load(dy + r * cols + c, cols - c), n = (load(x + r * cols + c, cols - c) - mean[r]) * inv_std[r], g = up * factor;
        sum_g[r] += g;
        sum_gn[r] = multiply_add(g, n, sum_gn[r]);
        gain_share = multiply_add(up, n, gain_share);
        bias_share += up;
      }
      store(dgain + c, gain_share, cols - c);
      store(dbias + c, bias_share, cols - c);
    }
    for (std::int64_t r = 0; r < R; ++r) {
      const float count = static_cast<float>(cols), mean_g = horizontal_sum(sum_g[r]) / count;
      const float mean_gn = horizontal_sum(sum_gn[r]) / count;
      for (std::int64_t c = r * cols, i = 0; i < cols; c += width, i += width) {
        const vf n = (load(x + c, cols - i) - mean[r]) * inv_std[r], g = load(dy + c, cols - i) * load(gain + i, cols - i);
        store(dx + c, inv_std[r] * (g - mean_g - n * mean_gn), cols - i, add_dx);
      }
    }
  }

  /// Sum of (x - average)^2.
  template <class T>
  LLM_SIMD static float squares_about(const T* x, float average, std::int64_t n) {
    vf total = splat(0);
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      const vf d = load(x + i) - average;
      total = multiply_add(d, d, total);
    }
    float result = horizontal_sum(total);
    for (; i < n; ++i) result += (static_cast<float>(x[i]) - average) * (static_cast<float>(x[i]) - average);
    return result;
  }
};

#endif
