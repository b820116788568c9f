// The row operations of attention: softmax over a tile of scores, its gradient, and the weighted sum of values.
#if defined(LLM_SIMD_WIDTH)

/// Running softmax of one query over tiles of keys: the largest score so far and the sum of exponentials below it.
struct AttentionRows {
  /// Turns a row of n scores q.k into weights e^(scale q.k - largest), 0 outside [begin, end). Updates largest and total, and scales the
  /// E sums of values gathered so far to the new largest score.
  LLM_KERNEL static void online_softmax(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end, float scale, float& largest,
                                        float& total, float* sums, std::int64_t E) {
    hide(scores, n, begin, end);
    vf most = splat(largest);
    for (std::int64_t i = 0; i < n; i += width) {
      const vf s = load(scores + i) * scale;
      store(scores + i, s);
      most = larger(s, most);
    }
    if (begin >= end) {  // nothing is seen; scores that are NaN or -inf are seen, and give NaN
      for (std::int64_t i = 0; i < n; i += width) store(scores + i, splat(0));
      return;
    }
    const float now = horizontal_max(most);
    vf sum = splat(0);
    for (std::int64_t i = 0; i < n; i += width) {
      const vf p = exponential(load(scores + i) - now);
      store(scores + i, p);
      sum += p;
    }
    if (now != largest && total != 0.0f) {
      const float correction = std::exp(largest - now);
      for (std::int64_t e = 0; e < E; e += width) store(sums + e, load(sums + e, E - e) * correction, E - e);
      total *= correction;
    }
    largest = now;
    total += horizontal_sum(sum);
  }

  /// Turns scores into weights p = e^(scale q.k - lse), 0 outside [begin, end), and dweights = dy.v into the gradient of q.k,
  /// p (dweights - dot) scale.
  LLM_KERNEL static void weights_and_gradient(float* scores, float* dweights, std::int64_t n, std::int64_t begin, std::int64_t end,
                                              float scale, float lse, float dot) {
    if (begin >= end) {  // lse may be -inf here
      std::fill(scores, scores + n, 0.0f);
      std::fill(dweights, dweights + n, 0.0f);
      return;
    }
    hide(scores, n, begin, end);
    // Rounded by themselves, as forward rounds them: a multiply-add here would give large scores another last bit, and the weights
    // would no longer be those that made y.
    for (std::int64_t i = 0; i < n; i += width) store(scores + i, load(scores + i) * scale);
    for (std::int64_t i = 0; i < n; i += width) {
      const vf p = exponential(load(scores + i) - lse);
      store(scores + i, p);
      store(dweights + i, p * (load(dweights + i) - dot) * scale);
    }
  }

  /// sums[E] = sum over n rows of v of weight times row.
  template <class KV>
  LLM_KERNEL static void weighted_sum(const float* weights, std::int64_t n, const KV* v, std::int64_t stride, float* sums, std::int64_t E) {
    std::int64_t e = 0;
    for (; e + 4 * width <= E; e += 4 * width) {
      vf a = splat(0), b = a, c = a, d = a;
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
      vf a = splat(0);
      for (std::int64_t s = 0; s < n; ++s) a = multiply_add(splat(weights[s]), load(v + s * stride + e, E - e), a);
      store(sums + e, a, E - e);
    }
  }

  /// out[i] = a[i, :] . b[i, :] for rows of n elements, each added up in the order of the products of tiles: where a query looks at one
  /// key alone, dy.y is then dy.v to the last bit, and their difference 0.
  template <class T>
  LLM_KERNEL static void dot_rows_in_order(const T* a, const T* b, std::int64_t stride, std::int64_t rows, std::int64_t n, float* out) {
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {  // four rows at a time, since one sum waits for itself
      const T *p = a + i * stride, *q = b + i * stride;
      float sums[4] = {};
      for (std::int64_t e = 0; e < n; ++e)
        for (int r = 0; r < 4; ++r)
          sums[r] = multiply_add_one(static_cast<float>(p[r * stride + e]), static_cast<float>(q[r * stride + e]), sums[r]);
      for (int r = 0; r < 4; ++r) out[i + r] = sums[r];
    }
    for (; i < rows; ++i) {
      float sum = 0.0f;
      for (std::int64_t e = 0; e < n; ++e)
        sum = multiply_add_one(static_cast<float>(a[i * stride + e]), static_cast<float>(b[i * stride + e]), sum);
      out[i] = sum;
    }
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
  LLM_SIMD static void hide(float* scores, std::int64_t n, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < begin; ++i) scores[i] = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = end; i < n; ++i) scores[i] = -std::numeric_limits<float>::infinity();
  }
};

#endif
