// Feed-forward layers: gated (SwiGLU, GEGLU) and GELU.
#pragma once

#include <llm/nn/linear.hpp>
#include <llm/ops/activation_linear.hpp>

namespace llm {

/// down(f(gate(x)) * up(x)). x [..., D] -> [..., D], F wide inside. Source: arXiv:2002.05202.
template <std::int64_t D, std::int64_t F, Activation Gate, bool HasBias = false, class Weights = Trainable<float>, class Backend = Cpu>
struct GatedMlp {
  static constexpr std::int64_t width = D, inner_width = F;
  static constexpr Activation gate = Gate;
  static constexpr bool trainable = !std::is_same_v<Weights, Frozen>;
  Linear<D, F, HasBias, Weights, Backend> gate_proj, up_proj;
  Linear<F, D, HasBias, Weights, Backend> down_proj;

  template <class X>
  X operator()(const X& x) const {
    using T = typename Weights::value_type;
    static_assert(detail::stream_of<X, D, T, Backend>,
                  "llm::GatedMlp::operator()(x [..., D]): x must have the layer's width, element type and backend");
    if constexpr (!detail::stream_of<X, D, T, Backend>)
      return {};
    else if constexpr (std::is_same_v<Weights, Frozen>) {  // nothing is recorded
      const auto [gate_of_x, up_of_x] = linears(x, gate_proj, up_proj);
      return down_proj(gated(Gate, gate_of_x, up_of_x));
    } else
      return down_proj.with_parameters([&](const auto&... down) { return gated_linear(Gate, gate_proj(x), up_proj(x), down...); });
  }
  /// f(linear, kind of its matrix, name).
  template <class Visit>
  void visit(Visit&& f) const {
    f(gate_proj, ParameterKind::matrix, "gate_proj");
    f(up_proj, ParameterKind::matrix, "up_proj");
    f(down_proj, ParameterKind::residual_output, "down_proj");
  }
};

/// GatedMlp with SiLU.
template <std::int64_t D, std::int64_t F, bool HasBias = false, class Weights = Trainable<float>, class Backend = Cpu>
using SwiGlu = GatedMlp<D, F, Activation::silu, HasBias, Weights, Backend>;

/// down(gelu(up(x))). x [..., D] -> [..., D], F wide inside. Source: arXiv:1606.08415.
template <std::int64_t D, std::int64_t F, Activation Gelu, bool HasBias = false, class Weights = Trainable<float>, class Backend = Cpu>
struct GeluMlp {
  static constexpr std::int64_t width = D;
  Linear<D, F, HasBias, Weights, Backend> up_proj;
  Linear<F, D, HasBias, Weights, Backend> down_proj;

  template <class X>
  X operator()(const X& x) const {
    using T = typename Weights::value_type;
    static_assert(detail::stream_of<X, D, T, Backend>,
                  "llm::GeluMlp::operator()(x [..., D]): x must have the layer's width, element type and backend");
    if constexpr (!detail::stream_of<X, D, T, Backend>)
      return {};
    else if constexpr (std::is_same_v<Weights, Frozen>)  // nothing is recorded
      return down_proj(activation(Gelu, up_proj(x)));
    else
      return down_proj.with_parameters([&](const auto&... down) { return activation_linear(Gelu, up_proj(x), down...); });
  }
  template <class Visit>
  void visit(Visit&& f) const {
    f(up_proj, ParameterKind::matrix, "up_proj");
    f(down_proj, ParameterKind::residual_output, "down_proj");
  }
};

}  // namespace llm
