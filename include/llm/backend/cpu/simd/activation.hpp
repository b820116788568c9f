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
  LLM_KERNEL static void activation_backward(Activation kind, const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
    switch (kind) {
      case Activation::silu:
        return backward<Silu>(dy, x, dx, y, n, add);
      case Activation::gelu_tanh:
        return backward<GeluTanh>(dy, x, dx, y, n, add);
      case Activation::gelu_erf:
        return backward<GeluErf>(dy, x, dx, y, n, add);
    }
  }

  template <class T>
  LLM_KERNEL static void gated_forward(Activation kind, const T* gate, const T* up, T* y, std::int64_t n) {
    switch (kind) {
      case Activation::silu:
        return forward_gated<Silu>(gate, up, y, n);
      case Activation::gelu_tanh:
        return forward_gated<GeluTanh>(gate, up, y, n);
      case Activation::gelu_erf:
        return forward_gated<GeluErf>(gate, up, y, n);
    }
  }

  template <class T>
  LLM_KERNEL static void gated_backward(Activation kind, const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n,
                                        bool add_dgate, bool add_dup) {
    switch (kind) {
      case Activation::silu:
        return backward_gated<Silu>(dy, gate, up, dgate, dup, y, n, add_dgate, add_dup);
      case Activation::gelu_tanh:
        return backward_gated<GeluTanh>(dy, gate, up, dgate, dup, y, n, add_dgate, add_dup);
      case Activation::gelu_erf:
        return backward_gated<GeluErf>(dy, gate, up, dgate, dup, y, n, add_dgate, add_dup);
    }
  }

 private:
  struct ValueAndSlope {
    vf value, slope;
  };
  struct Silu {
    LLM_SIMD static ValueAndSlope at(vf x) {
      const vf s = sigmoid(x);
      return {x * s, s * (1.0f + x * (1.0f - s))};
    }
  };
  /// (1 + tanh u) / 2 is sigmoid(2 u).
  struct GeluTanh {
    static constexpr float a = 1.5957691216057308f, b = 0.044715f;  // a = 2 sqrt(2 / pi)
    LLM_SIMD static ValueAndSlope at(vf x) {
      const vf square = x * x, s = sigmoid(x * multiply_add(square, splat(a * b), splat(a))), value = x * s;
      return {value, multiply_add(value * (1.0f - s), multiply_add(square, splat(3 * a * b), splat(a)), s)};
    }
  };
  struct GeluErf {
    LLM_SIMD static ValueAndSlope at(vf x) {
      const vf e = exponential(-0.5f * x * x), area = 0.5f * (1.0f + error_function(x * 0.70710678118654752f, e));
      return {x * area, multiply_add(x * e, splat(0.39894228040143268f), area)};  // 1 / sqrt(2 pi)
    }
  };

  template <class F, class T>
  LLM_SIMD static void forward(const T* x, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, F::at(load(x + i, n - i)).value, n - i);
  }
  template <class F, class T>
  LLM_SIMD static void backward(const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
    for (std::int64_t i = 0; i < n; i += width) {
      const ValueAndSlope f = F::at(load(x + i, n - i));
      const vf d = load(dy + i, n - i);
      if (y != nullptr) store(y + i, f.value, n - i);
      store(dx + i, d * f.slope, n - i, add);
    }
  }
  template <class F, class T>
  LLM_SIMD static void forward_gated(const T* gate, const T* up, T* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += width) store(y + i, F::at(load(gate + i, n - i)).value * load(up + i, n - i), n - i);
  }
  template <class F, class T>
  LLM_SIMD static void backward_gated(const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n, bool add_dgate,
                                      bool add_dup) {
    for (std::int64_t i = 0; i < n; i += width) {
      const ValueAndSlope f = F::at(load(gate + i, n - i));
      const vf d = load(dy + i, n - i), u = load(up + i, n - i);
      if (y != nullptr) store(y + i, f.value * u, n - i);
      store(dgate + i, d * u * f.slope, n - i, add_dgate);
      store(dup + i, d * f.value, n - i, add_dup);
    }
  }
};

#endif
