// RMSNorm and LayerNorm as layers.
#pragma once

#include <llm/nn/parameter.hpp>
#include <llm/ops/layer_norm.hpp>
#include <llm/ops/rms_norm.hpp>

namespace llm {

// T is the element type, or Frozen: float without gradients.

/// Gain over the last axis. x [..., D] -> [..., D]. See llm::rms_norm.
template <std::int64_t D, class T = float, class Backend = Cpu>
struct RmsNorm {
  static constexpr std::int64_t width = D;
  using Value = detail::element_of<T>;
  using Vector = Tensor<Value, Shape<D>, Backend>;
  Vector weight = detail::make_parameter<Vector, T>();
  double eps = 1e-5;
  Rounding rounding = Rounding::round_then_gain;

  template <class S>
  Tensor<Value, S, Backend> operator()(const Tensor<Value, S, Backend>& x) const {
    return rms_norm(x, weight, eps, rounding);
  }
  template <class F>
  void visit(F&& f) const {
    f(weight, ParameterKind::gain, "weight");
  }
};

/// Gain and bias over the last axis. x [..., D] -> [..., D]. See llm::layer_norm.
template <std::int64_t D, class T = float, class Backend = Cpu>
struct LayerNorm {
  static constexpr std::int64_t width = D;
  using Value = detail::element_of<T>;
  using Vector = Tensor<Value, Shape<D>, Backend>;
  Vector weight = detail::make_parameter<Vector, T>();
  Vector bias = detail::make_parameter<Vector, T>();
  double eps = 1e-5;

  template <class S>
  Tensor<Value, S, Backend> operator()(const Tensor<Value, S, Backend>& x) const {
    return layer_norm(x, weight, bias, eps);
  }
  template <class F>
  void visit(F&& f) const {
    f(weight, ParameterKind::gain, "weight");
    f(bias, ParameterKind::bias, "bias");
  }
};

}  // namespace llm
