// SiLU, GELU (tanh and erf) and SwiGLU.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct ActivationOp {
  Activation kind;
  Saved<T> x;
  Grad<T, Backend> d_x, d_y;

  void backward() {
    const auto dx = d_x.write_over(x);
    Backend::template activation_backward<T>(kind, d_y.read(), x.data(), dx.data, d_x.numel(), dx.add);
  }
};

template <class T, class Backend>
struct SwigluOp {
  Saved<T> gate, up;
  Grad<T, Backend> d_gate, d_up, d_y;

  void backward() {
    const auto dg = d_gate.write_over(gate);
    const auto du = d_up.write_over(up);
    Backend::template swiglu_backward<T>(d_y.read(), gate.data(), up.data(), dg.data, du.data, d_y.numel(), dg.add, du.add);
  }
};

}  // namespace detail

/// Applies an activation to every element. Saves x.
template <class T, class S, class Backend>
Tensor<T, S, Backend> activation(Activation kind, const Tensor<T, S, Backend>& x) {
  static_assert(detail::is_feature<T>, "llm::activation(kind, x), silu, gelu_*: x must be float, double or llm::bf16");
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  if constexpr (detail::is_feature<T>) {
    Backend::template activation_forward<T>(kind, x.data(), y.data(), y.numel());
    if (Tape* const tape = recording(x)) {
      const auto d_y = output_gradient(y);
      using G = Grad<T, Backend>;
      tape->record(y, detail::ActivationOp<T, Backend>{kind, Saved<T>(x), G(x), d_y});
    }
  }
  return y;
}

/// x * sigmoid(x).
template <class T, class S, class Backend>
Tensor<T, S, Backend> silu(const Tensor<T, S, Backend>& x) {
  return activation(Activation::silu, x);
}
/// GELU by its tanh approximation, as GPT-2. Source: arXiv:1606.08415.
template <class T, class S, class Backend>
Tensor<T, S, Backend> gelu_tanh(const Tensor<T, S, Backend>& x) {
  return activation(Activation::gelu_tanh, x);
}
/// x * Phi(x) with the error function. Source: arXiv:1606.08415.
template <class T, class S, class Backend>
Tensor<T, S, Backend> gelu_erf(const Tensor<T, S, Backend>& x) {
  return activation(Activation::gelu_erf, x);
}

/// silu(gate) * up, both of one shape. Saves both. Source: arXiv:2002.05202.
template <class T, class SG, class SU, class Backend>
Tensor<T, SG, Backend> swiglu(const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up) {
  static_assert(detail::same_shape<SG, SU>, "llm::swiglu(gate, up): both tensors must have the same shape");
  detail::require_equal("llm::swiglu(gate, up)", "the size of gate", gate.numel(), "that of up", up.numel());
  auto y = Tensor<T, SG, Backend>::empty(gate.shape());
  Backend::template swiglu_forward<T>(gate.data(), up.data(), y.data(), y.numel());
  if (Tape* const tape = recording(gate, up)) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    tape->record(y, detail::SwigluOp<T, Backend>{Saved<T>(gate), Saved<T>(up), G(gate), G(up), d_y});
  }
  return y;
}

}  // namespace llm
