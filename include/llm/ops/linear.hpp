// Linear map y = x W^T + b, in the layout of torch.nn.Linear.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

/// What the backward passes of a linear map of x [M, K] share: the parameters' gradients.
template <class T, class Backend>
struct LinearParameters {
  Saved<T> weight;
  Grad<T, Backend> d_weight, d_bias;
  std::int64_t M, N, K;

  /// dy [M, N], x [M, K].
  void backward(const T* dy, const T* x) {
    if (d_bias.tracked()) {
      const auto db = d_bias.write_wide();
      Backend::template linear_backward_bias<T>(dy, db.data, M, N, db.add);
    }
    if (d_weight.tracked()) {
      const auto dw = d_weight.write_wide();  // [N, K]
      Backend::template linear_backward_weight<T>(dy, x, dw.data, M, N, K, dw.add);
    }
  }
};

template <class T, class Backend>
struct LinearOp {
  LinearParameters<T, Backend> parameters;
  Saved<T> x;
  Grad<T, Backend> d_x, d_y;

  void backward() {
    const T* const dy = d_y.read();  // [M, N]
    if (d_x.tracked()) {             // first, since it reads dy row by row: what the weight's gradient reads across then lies in the caches
      const auto& [weight, d_weight, d_bias, M, N, K] = parameters;
      const auto dx = d_x.write();  // [M, K]
      Backend::template linear_backward_input<T>(dy, weight.data(), dx.data, M, N, K, dx.add);
    }
    parameters.backward(dy, x.data());
  }
};

template <class T, class SX, class SW, class Backend, class Bias>
auto linear(const Tensor<T, SX, Backend>& x, const Tensor<T, SW, Backend>& weight, const Bias* bias) {
  constexpr std::int64_t N = axis<SW, 0>;
  const std::int64_t m = rows(x.shape()), n = SW::rank > 0 ? weight.extent(0) : 1, k = last(x.shape());
  require_equal("llm::linear(x [..., K], weight [N, K])", "K of x", k, "K of weight", last(weight.shape()));
  auto y = Tensor<T, with_last<SX, N>, Backend>::empty(replace_last<N>(x.shape(), n));
  Backend::template linear_forward<T>(x.data(), weight.data(), bias ? bias->data() : nullptr, y.data(), m, n, k);
  if (Tape* const tape = bias ? recording(x, weight, *bias) : recording(x, weight)) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    const Saved<T> saved_weight = x.tracked() ? Saved<T>(weight) : Saved<T>();  // for d_x only, as x for d_weight
    tape->record(y, LinearOp<T, Backend>{
                        {saved_weight, G(weight), bias ? G(*bias) : G(), m, n, k}, weight.tracked() ? Saved<T>(x) : Saved<T>(), G(x), d_y});
  }
  return y;
}

}  // namespace detail

/// y = x W^T. x [..., K], weight [N, K] -> [..., N].
/// Requires the last extents to be equal (compile time where constant, else llm::ShapeError).
/// Saves x (for the weight's gradient) and the weight.
template <class T, class SX, class SW, class Backend>
auto linear(const Tensor<T, SX, Backend>& x, const Tensor<T, SW, Backend>& weight) {
  static_assert(detail::has_rank<SW::rank, 2>, "llm::linear(x [..., K], weight [N, K]): the weight must have rank 2");
  static_assert(detail::same_extent<detail::last_extent<SX>, detail::axis<SW, 1>>,
                "llm::linear(x [..., K], weight [N, K]): the last extent of x must equal the weight's columns");
  return detail::linear(x, weight, static_cast<const Tensor<T, Shape<>, Backend>*>(nullptr));
}

/// y = x W^T + b. x [..., K], weight [N, K], bias [N] -> [..., N].
template <class T, class SX, class SW, class SB, class Backend>
auto linear(const Tensor<T, SX, Backend>& x, const Tensor<T, SW, Backend>& weight, const Tensor<T, SB, Backend>& bias) {
  static_assert(detail::has_rank<SW::rank, 2>, "llm::linear(x [..., K], weight [N, K], bias [N]): the weight must have rank 2");
  static_assert(detail::same_extent<detail::last_extent<SX>, detail::axis<SW, 1>>,
                "llm::linear(x [..., K], weight [N, K], bias [N]): the last extent of x must equal the weight's columns");
  static_assert(detail::same_extent<detail::last_extent<SB>, detail::axis<SW, 0>>,
                "llm::linear(x [..., K], weight [N, K], bias [N]): the bias must be as long as the weight has rows");
  detail::require_equal("llm::linear(x [..., K], weight [N, K], bias [N])", "N of weight", weight.extent(0), "bias", bias.numel());
  return detail::linear(x, weight, &bias);
}

/// Tensors of different element types or backends, or a bias that is no tensor.
template <class TX, class SX, class BX, class TW, class SW, class BW, class... Bias>
auto linear(const Tensor<TX, SX, BX>&, const Tensor<TW, SW, BW>&, const Bias&...) {
  static_assert(detail::alike<Tensor<TX, SX, BX>, Tensor<TW, SW, BW>, Bias...>,
                "llm::linear(x [..., K], weight [N, K], bias [N]): all must be tensors of the same element type and backend");
  return Tensor<TX, detail::with_last<SX, detail::axis<SW, 0>>, BX>();
}

}  // namespace llm
