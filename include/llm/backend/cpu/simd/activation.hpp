// Activations and their derivatives.
#if defined(LLM_SIMD_WIDTH)

struct Activations {
  template <class T>
  LLM_KERNEL static void activation_forward(Activation kind, const T* x, T* y, std::int64_t n) {
    switch (kind) {
      case Activation::silu:
        return forward<Silu>(x, y, n);
      case Activation::gelu_tanh:
        return forward<GeluTanh>(x, y, n);
      case Activation::gelu_erf:
        return forward<GeluErf>(x, y, n);
    }
  }

  template <class T>
  LLM_KERNEL static void activation_backward(Activation kind, const T* dy, const T* x, T* dx, std::int64_t n, bool add) {
    switch (kind) {
      case Activation::silu:
        return backward<Silu>(dy, x, dx, n, add);
      case Activation::gelu_tanh:
        return backward<GeluTanh>(dy, x, dx, n, add);
      case Activation::gelu_erf:
        return backward<GeluErf>(dy, x, dx, n, add);
    }
  }

  template <class T>
  LLM_KERNEL static void swiglu_forward(const T* gate, const T* up, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) {
      const vf g = load(gate + i, n - i);
      store(y + i, g * sigmoid(g) * load(up + i, n - i), n - i);
    }
  }

  template <class T>
  LLM_KERNEL static void swiglu_backward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, std::int64_t n, bool add_dgate,
                                         bool add_dup) {
    for (std::int64_t i = 0; i < n; i += width) {
      const vf g = load(gate + i, n - i), s = sigmoid(g), d = load(dy + i, n - i);
      const vf d_gate = d * load(up + i, n - i) * s * (1.0f + g * (1.0f - s)), d_up = d * g * s;
      store(dgate + i, d_gate, n - i, add_dgate);
      store(dup + i, d_up, n - i, add_dup);
    }
  }

 private:
  struct Silu {
    LLM_SIMD static vf value(vf x) { return x * sigmoid(x); }
    LLM_SIMD static vf slope(vf x) {
      const vf s = sigmoid(x);
      return s * (1.0f + x * (1.0f - s));
    }
  };
  struct GeluTanh {
    static constexpr float a = 0.7978845608028654f, b = 0.044715f;  // a = sqrt(2 / pi)
    LLM_SIMD static vf value(vf x) { return 0.5f * x * (1.0f + hyperbolic_tangent(a * (x + b * x * x * x))); }
    LLM_SIMD static vf slope(vf x) {
      const vf t = hyperbolic_tangent(a * (x + b * x * x * x));
      return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (a + 3.0f * a * b * x * x);
    }
  };
  struct GeluErf {
    LLM_SIMD static vf area(vf x) { return 0.5f * (1.0f + error_function(x * 0.70710678118654752f)); }
    LLM_SIMD static vf value(vf x) { return x * area(x); }
    LLM_SIMD static vf slope(vf x) { return area(x) + x * 0.39894228040143268f * exponential(-0.5f * x * x); }  // 1 / sqrt(2 pi)
  };

  template <class F, class T>
  LLM_SIMD static void forward(const T* x, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, F::value(load(x + i, n - i)), n - i);
  }
  template <class F, class T>
  LLM_SIMD static void backward(const T* dy, const T* x, T* dx, std::int64_t n, bool add) {
    for (std::int64_t i = 0; i < n; i += width) store(dx + i, load(dy + i, n - i) * F::slope(load(x + i, n - i)), n - i, add);
  }
};

#endif
