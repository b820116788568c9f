// Linear layer, trainable or frozen in any storage format.
#pragma once

#include <llm/nn/parameter.hpp>
#include <llm/ops/linear.hpp>
#include <llm/ops/linear_stored.hpp>

namespace llm {

namespace detail {
struct NoBias {};
}  // namespace detail

/// y = x W^T + b. x [..., In] -> [..., Out]; weight [Out, In], bias [Out] when HasBias.
template <std::int64_t In, std::int64_t Out, bool HasBias = false, class Weights = Trainable<float>, class Backend = Cpu>
struct Linear {
  static_assert(detail::trainable_weights<Weights>,
                "llm::Linear<In, Out, HasBias, Weights, Backend>: Weights must be llm::Trainable<T> with T float, double or llm::bf16, or "
                "llm::Frozen");
  template <class X>
  Tensor<float, Shape<dyn, Out>, Backend> operator()(const X&) const {
    return {};
  }
};

template <std::int64_t In, std::int64_t Out, bool HasBias, class T, class Backend>
struct Linear<In, Out, HasBias, Trainable<T>, Backend> {
  using Weight = Tensor<T, Shape<Out, In>, Backend>;
  using Bias = std::conditional_t<HasBias, Tensor<T, Shape<Out>, Backend>, detail::NoBias>;
  Weight weight = detail::make_parameter<Weight>();
  [[no_unique_address]] Bias bias = detail::make_parameter<Bias>();

  template <class S>
  auto operator()(const Tensor<T, S, Backend>& x) const {
    return with_parameters([&](const auto&... parameters) { return linear(x, parameters...); });
  }
  /// f(weight), or f(weight, bias) when the layer has one.
  template <class F>
  auto with_parameters(const F& f) const {
    if constexpr (HasBias)
      return f(weight, bias);
    else
      return f(weight);
  }

  /// Features of another element type or backend.
  template <class X>
  Tensor<T, Shape<dyn, Out>, Backend> operator()(const X&) const {
    static_assert(detail::features_of<X, T, Backend>,
                  "llm::Linear::operator()(x [..., In]): x must have the layer's element type and backend");
    return {};
  }

  /// Calls f(tensor, kind, "weight" or "bias") for each parameter.
  template <class F>
  void visit(F&& f, ParameterKind kind = ParameterKind::matrix) const {
    f(weight, kind, "weight");
    if constexpr (HasBias) f(bias, ParameterKind::bias, "bias");
  }
};

template <std::int64_t In, std::int64_t Out, bool HasBias, class Backend>
struct Linear<In, Out, HasBias, Frozen, Backend> {
  using Weight = StoredMatrix<Out, In, Backend>;
  using Bias = std::conditional_t<HasBias, Tensor<float, Shape<Out>, Backend>, detail::NoBias>;
  Weight weight;
  [[no_unique_address]] Bias bias = detail::make_parameter<Bias, Frozen>();

  template <class S>
  auto operator()(const Tensor<float, S, Backend>& x) const {
    if constexpr (HasBias)
      return linear(x, weight, bias.data());
    else
      return linear(x, weight);
  }
  /// Features of another element type or backend.
  template <class X>
  Tensor<float, Shape<dyn, Out>, Backend> operator()(const X&) const {
    static_assert(detail::features_of<X, float, Backend>,
                  "llm::Linear::operator()(x [..., In]): a frozen layer takes float on the layer's backend");
    return {};
  }

  /// Calls f(stored matrix or tensor, kind, "weight" or "bias") for each parameter.
  template <class F>
  void visit(F&& f, ParameterKind kind = ParameterKind::matrix) const {
    f(weight, kind, "weight");
    if constexpr (HasBias) f(bias, ParameterKind::bias, "bias");
  }
};

}  // namespace llm
