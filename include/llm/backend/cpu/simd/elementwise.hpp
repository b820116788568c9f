// Elementwise kernels, sums, and AdamW.
#if defined(LLM_SIMD_WIDTH)

struct Elementwise {
  template <class T>
  LLM_KERNEL static void add(const T* a, const T* b, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(a + i, n - i) + load(b + i, n - i), n - i);
  }

  template <class T, class X>
  LLM_KERNEL static void accumulate(T* y, const X* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(y + i, n - i) + load(x + i, n - i), n - i);
  }

  template <class T>
  LLM_KERNEL static void scale(T* y, std::int64_t n, double factor) {
    const vf f = splat(static_cast<float>(factor));
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(y + i, n - i) * f, n - i);
  }

  /// Floats of a block are added in double, one partial sum a lane, after short runs in float.
  template <class T>
  LLM_KERNEL static double sum(const T* x, std::int64_t n) {
    double total = 0;
    for (std::int64_t i = 0; i < n; i += run) {
      vf part = splat(0);
      for (std::int64_t j = i; j < (std::min)(n, i + run); j += width) part += load(x + j, n - j);
      total += static_cast<double>(horizontal_sum(part));
    }
    return total;
  }

  template <class T>
  LLM_KERNEL static double sum_of_squares(const Elements<T>* arrays, std::int64_t count) {
    double total = 0;
    for (std::int64_t a = 0; a < count; ++a)
      for (std::int64_t i = 0; i < arrays[a].n; i += run)
        total += static_cast<double>(squares(arrays[a].data + i, (std::min)(run, arrays[a].n - i)));
    return total;
  }

  template <class T>
  LLM_KERNEL static void adamw(const AdamWArgs& args, const AdamWPart<T>* parts, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const AdamWPart<T>& p = parts[i];
      const float decay = static_cast<float>(1 - args.lr * p.weight_decay);
      p.master == nullptr ? update(args, decay, p.param, p.param, p.grad, p.m, p.v, p.n)
                          : update(args, decay, p.master, p.param, p.grad, p.m, p.v, p.n);
    }
  }

 private:
  static constexpr std::int64_t run = 16 * width;

  /// Four sums, so that an addition need not wait for the one before.
  template <class T>
  LLM_SIMD static float squares(const T* x, std::int64_t n) {
    vf a = splat(0), b = a, c = a, d = a;
    std::int64_t i = 0;
    for (; i + 4 * width <= n; i += 4 * width) {
      const vf x0 = load(x + i), x1 = load(x + i + width), x2 = load(x + i + 2 * width), x3 = load(x + i + 3 * width);
      a = multiply_add(x0, x0, a);
      b = multiply_add(x1, x1, b);
      c = multiply_add(x2, x2, c);
      d = multiply_add(x3, x3, d);
    }
    for (; i < n; i += width) {
      const vf v = load(x + i, n - i);
      a = multiply_add(v, v, a);
    }
    return horizontal_sum((a + b) + (c + d));
  }

  /// `master` may be `param`.
  template <class Master, class T>
  LLM_SIMD static void update(const AdamWArgs& args, float decay, Master* master, T* param, const float* grad, float* m, float* v,
                              std::int64_t n) {
    const vf beta1 = splat(static_cast<float>(args.beta1)), keep1 = splat(static_cast<float>(1 - args.beta1));
    const vf beta2 = splat(static_cast<float>(args.beta2)), keep2 = splat(static_cast<float>(1 - args.beta2));
    const vf factor = splat(static_cast<float>(args.grad_scale)), rate = splat(static_cast<float>(args.lr / args.correction1));
    const vf eps = splat(static_cast<float>(args.eps)), correction = splat(static_cast<float>(1 / std::sqrt(args.correction2)));
    const bool apart = static_cast<void*>(master) != param;
    for (std::int64_t i = 0; i < n; i += width) {
      const vf g = load(grad + i, n - i) * factor;
      const vf first = multiply_add(beta1, load(m + i, n - i), keep1 * g);
      const vf second = multiply_add(beta2, load(v + i, n - i), keep2 * g * g);
      const vf after = load(master + i, n - i) * decay - rate * first / multiply_add(square_root(second), correction, eps);
      store(m + i, first, n - i);
      store(v + i, second, n - i);
      store(master + i, after, n - i);
      if (apart) store(param + i, after, n - i);
    }
  }
};

#endif
