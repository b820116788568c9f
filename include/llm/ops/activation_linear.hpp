// The second half of an MLP in one op: a linear map of an activation, whose values backward computes again rather than keeps. They are
// cheap to compute where the activation's gradient is, and in an MLP they are the widest tensors.
#pragma once

#include <llm/ops/activation.hpp>
#include <llm/ops/linear.hpp>

namespace llm {

namespace detail {

/// y = h W^T + b, where `values` says what h is.
template <class Values, class T, class Backend>
struct LinearOfValuesOp {
  Values values;
  LinearParameters<T, Backend> parameters;
  Grad<T, Backend> d_y;

  void backward() {
    const auto& [weight, d_weight, d_bias, M, N, K] = parameters;
    const T* const dy = d_y.read();  // [M, N]
    auto h = Tensor<T, Shape<dyn>, Backend>::empty({M * K});
    Backend::template linear_backward_input<T>(dy, weight.data(), h.data(), M, N, K, false);
    values.backward(h.data(), h.data(), M * K);  // h was its gradient until here
    parameters.backward(dy, h.data());
  }
};

/// linear(h(), weight, bias...), on the tape as one op with the values that `saved()` gives. What made h is only worth computing again when
/// its gradient is wanted, too: else the two ops leave out more.
template <class H, class Save, class T, class SW, class Backend, class... Bias>
auto linear_of_values(bool tracked, const H& h, const Save& saved, const Tensor<T, SW, Backend>& weight, const Bias&... bias) {
  Tape* const tape = tracked ? Tape::current() : nullptr;
  if (!tape) return linear(h(), weight, bias...);
  auto y = [&] {
    const NoTape one_op_not_two;
    return linear(h(), weight, bias...);
  }();
  using G = Grad<T, Backend>;
  G d_bias;
  ((d_bias = G(bias)), ...);
  const auto d_y = output_gradient(y);
  tape->record(y, LinearOfValuesOp<decltype(saved()), T, Backend>{
                      saved(), {Saved<T>(weight), G(weight), d_bias, rows(y.shape()), weight.extent(0), weight.extent(1)}, d_y});
  return y;
}

}  // namespace detail

/// y = (f(gate) * up) W^T + b. gate and up [..., K], weight [N, K], bias [N] or none -> [..., N]. The same as linear(gated(kind, gate, up),
/// weight, bias), with what these two require, and in little more time. Saves gate, up and the weight, but not the product.
template <class T, class SG, class SU, class SW, class Backend, class... Bias>
auto gated_linear(Activation kind, const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up,
                  const Tensor<T, SW, Backend>& weight, const Bias&... bias) {
  return detail::linear_of_values(
      gate.tracked() || up.tracked(), [&] { return gated(kind, gate, up); }, [&] { return detail::saved_values(kind, gate, up); }, weight,
      bias...);
}
/// gated_linear with SiLU.
template <class T, class SG, class SU, class SW, class Backend, class... Bias>
auto swiglu_linear(const Tensor<T, SG, Backend>& gate, const Tensor<T, SU, Backend>& up, const Tensor<T, SW, Backend>& weight,
                   const Bias&... bias) {
  return gated_linear(Activation::silu, gate, up, weight, bias...);
}

/// y = f(x) W^T + b. x [..., K], weight [N, K], bias [N] or none -> [..., N]. The same as linear(activation(kind, x), weight, bias), and in
/// with what these two require, and in little more time. Saves x and the weight, but not f(x).
template <class T, class SX, class SW, class Backend, class... Bias>
auto activation_linear(Activation kind, const Tensor<T, SX, Backend>& x, const Tensor<T, SW, Backend>& weight, const Bias&... bias) {
  return detail::linear_of_values(
      x.tracked(), [&] { return activation(kind, x); }, [&] { return detail::saved_values(kind, x); }, weight, bias...);
}

/// Tensors of different element types or backends, or a bias that is no tensor.
template <class TG, class SG, class BG, class TU, class SU, class BU, class TW, class SW, class BW, class... Bias>
auto gated_linear(Activation, const Tensor<TG, SG, BG>&, const Tensor<TU, SU, BU>&, const Tensor<TW, SW, BW>&, const Bias&...) {
  static_assert(
      detail::alike<Tensor<TG, SG, BG>, Tensor<TU, SU, BU>, Tensor<TW, SW, BW>, Bias...>,
      "llm::gated_linear(kind, gate [..., K], up [..., K], weight [N, K], bias [N]): all must be tensors of the same element type and "
      "backend");
  return Tensor<TG, detail::with_last<SG, detail::axis<SW, 0>>, BG>();
}
template <class TG, class SG, class BG, class TU, class SU, class BU, class TW, class SW, class BW, class... Bias>
auto swiglu_linear(const Tensor<TG, SG, BG>& gate, const Tensor<TU, SU, BU>& up, const Tensor<TW, SW, BW>& weight, const Bias&... bias) {
  return gated_linear(Activation::silu, gate, up, weight, bias...);
}
template <class TX, class SX, class BX, class TW, class SW, class BW, class... Bias>
auto activation_linear(Activation, const Tensor<TX, SX, BX>&, const Tensor<TW, SW, BW>&, const Bias&...) {
  static_assert(
      detail::alike<Tensor<TX, SX, BX>, Tensor<TW, SW, BW>, Bias...>,
      "llm::activation_linear(kind, x [..., K], weight [N, K], bias [N]): all must be tensors of the same element type and backend");
  return Tensor<TX, detail::with_last<SX, detail::axis<SW, 0>>, BX>();
}

}  // namespace llm
