// SiLU, GELU (tanh and erf), and what they gate: SwiGLU and GEGLU.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

/// h = f(x).
template <class T, class Backend>
struct ActivationValues {
  Activation kind;
  Saved<T> x;
  Grad<T, Backend> d_x;

  /// The gradient of x from d_h, that of the n elements of h. Writes h's values again, too, unless h is null; h may be d_h.
  void backward(const T* d_h, T* h, std::int64_t n) {
    const auto dx = d_x.write_over(x);
    Backend::template activation_backward<T>(kind, d_h, x.data(), dx.data, h, n, dx.add);
  }
};

/// h = f(gate) * up.
template <class T, class Backend>
struct GatedValues {
  Activation kind;
  Saved<T> gate, up;
  Grad<T, Backend> d_gate, d_up;

  /// As that of ActivationValues.
  void backward(const T* d_h, T* h, std::int64_t n) {
    const auto dg = d_gate.write_over(gate);
    const auto du = d_up.write_over(up);
    Backend::template gated_backward<T>(kind, d_h, gate.data(), up.data(), dg.data, du.data, h, n, dg.add, du.add);
  }
};

/// The values by themselves: y = h.
template <class Values, class T, class Backend>
struct ValuesOp {
  Values values;
  Grad<T, Backend> d_y;

  void backward() { values.backward(d_y.read(), nullptr, d_y.numel()); }
};

/// What backward needs of the inputs of an activation.
template <class T, class S, class Backend>
ActivationValues<T, Backend> saved_values(Activation kind, const Tensor<T, S, Backend>& x) {
  return {kind, Saved<T>(x), Grad<T, Backend>(x)};
}
template <class T, class SG, class SU, class Backend>
GatedValues<T, Backend> saved_values(Activation kind, const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up) {
  return {kind, Saved<T>(gate), Saved<T>(up), Grad<T, Backend>(gate), Grad<T, Backend>(up)};
}

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
      tape->record(y, detail::ValuesOp<detail::ActivationValues<T, Backend>, T, Backend>{detail::saved_values(kind, x), d_y});
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

/// f(gate) * up, both of one shape. Saves both. Source: arXiv:2002.05202.
template <class T, class SG, class SU, class Backend>
Tensor<T, SG, Backend> gated(Activation kind, const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up) {
  static_assert(detail::same_shape<SG, SU>, "llm::gated(kind, gate, up), swiglu(gate, up): both tensors must have the same shape");
  detail::require_equal("llm::gated(kind, gate, up), swiglu(gate, up)", "the size of gate", gate.numel(), "that of up", up.numel());
  auto y = Tensor<T, SG, Backend>::empty(gate.shape());
  Backend::template gated_forward<T>(kind, gate.data(), up.data(), y.data(), y.numel());
  if (Tape* const tape = recording(gate, up)) {
    const auto d_y = output_gradient(y);
    tape->record(y, detail::ValuesOp<detail::GatedValues<T, Backend>, T, Backend>{detail::saved_values(kind, gate, up), d_y});
  }
  return y;
}

/// silu(gate) * up.
template <class T, class SG, class SU, class Backend>
Tensor<T, SG, Backend> swiglu(const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up) {
  return gated(Activation::silu, gate, up);
}

}  // namespace llm
