// Elementwise kernels, sums, and AdamW.
#if defined(LLM_SIMD_WIDTH)

struct Elementwise {
  template <class T>
  LLM_KERNEL static void add(const T* a, const T* b, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, load(a + i, n - i) + load(b + i, n - i), n - i);
  }

  template <class T>
  LLM_KERNEL static void accumulate(T* y, const T* x, std::int64_t n) {
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
  LLM_KERNEL static double sum_of_squares(const T* x, std::int64_t n) {
    double total = 0;
    for (std::int64_t i = 0; i < n; i += run) {
      vf part = splat(0);
      for (std::int64_t j = i; j < (std::min)(n, i + run); j += width) {
        const vf v = load(x + j, n - j);
        part = multiply_add(v, v, part);
      }
      total += static_cast<double>(horizontal_sum(part));
    }
    return total;
  }

  template <class T, class Moment>
  LLM_KERNEL static void adamw(const AdamWArgs& args, T* param, float* master, const T* grad, Moment* m, Moment* v, std::int64_t n) {
    const vf beta1 = splat(static_cast<float>(args.beta1)), keep1 = splat(static_cast<float>(1 - args.beta1));
    const vf beta2 = splat(static_cast<float>(args.beta2)), keep2 = splat(static_cast<float>(1 - args.beta2));
    const vf decay = splat(static_cast<float>(1 - args.lr * args.weight_decay)), factor = splat(static_cast<float>(args.grad_scale));
    const vf rate = splat(static_cast<float>(args.lr / args.correction1)), eps = splat(static_cast<float>(args.eps));
    const vf root_correction = splat(static_cast<float>(std::sqrt(args.correction2)));
    for (std::int64_t i = 0; i < n; i += width) {
      const vf g = load(grad + i, n - i) * factor;
      const vf first = multiply_add(beta1, load(m + i, n - i), keep1 * g);
      const vf second = multiply_add(beta2, load(v + i, n - i), keep2 * g * g);
      const vf before = master != nullptr ? load(master + i, n - i) : load(param + i, n - i);
      const vf after = before * decay - rate * first / (square_root(second) / root_correction + eps);
      store(m + i, first, n - i);
      store(v + i, second, n - i);
      if (master != nullptr) store(master + i, after, n - i);
      store(param + i, after, n - i);
    }
  }

 private:
  static constexpr std::int64_t run = 16 * width;
};

#endif
