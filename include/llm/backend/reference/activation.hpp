// Activations and their derivatives: SiLU, both GELUs, and the gated ones (SwiGLU, GEGLU). Sources: arXiv:1702.03118, arXiv:1606.08415,
// arXiv:2002.05202.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>
#include <llm/detail/platform.hpp>

namespace llm::reference {

/// A function's value and derivative at one point.
template <class C>
struct ValueAndSlope {
  C value, slope;
};

template <class C>
LLM_HOST_DEVICE ValueAndSlope<C> silu(C x) {
  const C sigmoid = C(1) / (C(1) + std::exp(-x));
  return {x * sigmoid, sigmoid * (C(1) + x * (C(1) - sigmoid))};
}

template <class C>
LLM_HOST_DEVICE ValueAndSlope<C> gelu_tanh(C x) {
  constexpr C a = C(0.7978845608028654), b = C(0.044715);  // a = sqrt(2 / pi)
  const C t = std::tanh(a * (x + b * x * x * x));
  return {C(0.5) * x * (C(1) + t), C(0.5) * (C(1) + t) + C(0.5) * x * (C(1) - t * t) * a * (C(1) + C(3) * b * x * x)};
}

template <class C>
LLM_HOST_DEVICE ValueAndSlope<C> gelu_erf(C x) {
  const C area = C(0.5) * (C(1) + std::erf(x * C(0.7071067811865476)));  // the normal distribution up to x
  const C density = C(0.3989422804014327) * std::exp(C(-0.5) * x * x);   // 1 / sqrt(2 pi)
  return {x * area, area + x * density};
}

template <class C>
LLM_HOST_DEVICE ValueAndSlope<C> activate(Activation kind, C x) {
  switch (kind) {
    case Activation::silu:
      return silu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::gelu_erf:
      return gelu_erf(x);
  }
  return {x, C(1)};
}

/// y[i] = f(x[i])
template <class T>
void activation_forward(Activation kind, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(activate(kind, compute_t<T>(x[i])).value);
}

/// dx[i] = dy[i] f'(x[i]), and y[i] = f(x[i]) unless y is null. y may be dy.
template <class T>
void activation_backward(Activation kind, const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) {
    const ValueAndSlope<C> f = activate(kind, C(x[i]));
    store(dx[i], C(dy[i]) * f.slope, add);
    if (y != nullptr) y[i] = T(f.value);
  }
}

/// y[i] = f(gate[i]) up[i]
template <class T>
void gated_forward(Activation kind, const T* gate, const T* up, T* y, std::int64_t n) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(activate(kind, C(gate[i])).value * C(up[i]));
}

/// dgate[i] = dy[i] up[i] f'(gate[i]), dup[i] = dy[i] f(gate[i]), and y[i] = f(gate[i]) up[i] unless y is null. y may be dy.
template <class T>
void gated_backward(Activation kind, const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n, bool add_dgate,
                    bool add_dup) {
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) {
    const ValueAndSlope<C> f = activate(kind, C(gate[i]));
    const C d_gate = C(dy[i]) * C(up[i]) * f.slope;
    const C d_up = C(dy[i]) * f.value;
    if (y != nullptr) y[i] = T(f.value * C(up[i]));
    store(dgate[i], d_gate, add_dgate);
    store(dup[i], d_up, add_dup);
  }
}

}  // namespace llm::reference
