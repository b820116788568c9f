// The feed-forward layer of a mixture of experts: a router, its experts, and experts that every token passes.
#pragma once

#include <array>
#include <memory>

#include <llm/nn/mlp.hpp>
#include <llm/ops/add.hpp>
#include <llm/ops/mixture.hpp>

namespace llm {

/// What decides the types and the routing of a mixture of experts. Numbers are integers, and the scale is told at run time: clang 14 has no
/// floating template arguments.
struct MixtureSpec {
  std::int64_t d_model = 0, experts = 0, ffn_dim = 0;
  Activation gate = Activation::silu;
  bool score_bias = false;
  std::int64_t shared_ffn_dim = 0;  // 0: no shared experts
  bool shared_gate = false;
};

/// A router and its experts. x [..., D] -> [..., D].
template <std::int64_t D, std::int64_t Count, std::int64_t F, Activation Gate = Activation::silu, bool HasBias = false,
          class Weights = Trainable<float>, class Backend = Cpu>
struct RoutedExperts {
  using T = typename Weights::value_type;
  using Bank = std::array<GatedMlp<D, F, Gate, false, Weights, Backend>, static_cast<std::size_t>(Count)>;
  using Bias = std::conditional_t<HasBias, Tensor<T, Shape<Count>, Backend>, detail::NoBias>;

  Linear<D, Count, false, Weights, Backend> router;
  [[no_unique_address]] Bias bias = detail::make_parameter<Bias, typename Weights::element_type>();
  std::shared_ptr<Bank> experts = std::make_shared<Bank>();  // shared with what a tape recorded
  RouteOptions options = {};

  template <class X>
  X operator()(const X& x, const RouterLog& log = {}) const {
    const T* choice_bias = nullptr;
    if constexpr (HasBias) choice_bias = bias.data();
    return mixture(x, route(router(x), options, choice_bias, log), experts);
  }
};

/// Routed experts, and shared ones that every token passes, which a gate of their own may weigh: sigmoid(x w). x [..., D] -> [..., D].
/// log: where the router notes what it chose.
/// Sources: arXiv:2401.04088 (Mixtral), 2401.06066 (shared experts).
template <MixtureSpec M, class Weights = Trainable<float>, class Backend = Cpu>
struct Mixture {
  static constexpr std::int64_t D = M.d_model, width = D, S = M.shared_ffn_dim;
  struct None {};
  using Routed = RoutedExperts<D, M.experts, M.ffn_dim, M.gate, M.score_bias, Weights, Backend>;
  /// A gated shared expert is a mixture of one.
  using GatedShared = RoutedExperts<D, 1, S, M.gate, false, Weights, Backend>;
  using Shared =
      std::conditional_t<S == 0, None, std::conditional_t<M.shared_gate, GatedShared, GatedMlp<D, S, M.gate, false, Weights, Backend>>>;

  Routed routed;
  [[no_unique_address]] Shared shared;

  Mixture() {
    if constexpr (S > 0 && M.shared_gate) shared.options = {.active = 1, .sigmoid = true, .normalise = false};
  }

  template <class X>
  X operator()(const X& x, const RouterLog& log = {}) const {
    using T = typename Weights::value_type;
    static_assert(detail::stream_of<X, D, T, Backend>,
                  "llm::Mixture::operator()(x [..., D]): x must have the layer's width, element type and backend");
    if constexpr (!detail::stream_of<X, D, T, Backend>)
      return {};
    else if constexpr (S == 0)
      return routed(x, log);
    else {
      const X y = routed(x, log);  // first: the operands of a sum have no order
      return y + shared(x);
    }
  }

  /// inside(module, number of an expert or -1) gives the f(layer, kind of its matrix, name) for what stands there.
  template <class Inside>
  void visit_modules(const Inside& inside) const {
    const auto here = inside("mlp", -1);
    here(routed.router, ParameterKind::matrix, "gate");
    if constexpr (M.score_bias) here(ScoreBias{routed.bias}, ParameterKind::bias, "gate");
    std::int64_t number = 0;
    for (const auto& expert : *routed.experts) expert.visit(inside("mlp.experts", number++));
    const auto together = inside("mlp.shared_expert", -1);
    if constexpr (S > 0 && M.shared_gate) {
      (*shared.experts)[0].visit(together);
      here(shared.router, ParameterKind::matrix, "shared_expert_gate");
    } else if constexpr (S > 0) {
      shared.visit(together);
    }
  }

 private:
  /// The bias for the choice as a layer that can be visited.
  struct ScoreBias {
    const typename Routed::Bias& bias;
    template <class F>
    void visit(F&& f) const {
      f(bias, ParameterKind::bias, "e_score_correction_bias");
    }
  };
};

}  // namespace llm
