// What stands for a model whose Config is wrong or not built yet: it reports the broken rules and then agrees with everything.
#pragma once

#include <concepts>
#include <cstdint>

#include <llm/model/rules.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

namespace detail {

/// Equal to every number, so that a static_assert about a model that is already reported adds no error.
struct AnyNumber {
  constexpr operator std::int64_t() const { return 0; }
  template <std::integral Number>
  friend constexpr bool operator==(AnyNumber, Number) {
    return true;
  }
};

}  // namespace detail

template <const Config& C, class Weights, class Backend>
class LLM;

/// The members that a program names first, without code behind them: the rule's sentence is the only error.
template <const Config& C, class Weights, class Backend>
requires(!buildable_config<C>) class LLM<C, Weights, Backend> : UnbuiltFeatures<C> {
 public:
  using T = typename Weights::value_type;
  using backend_type = Backend;
  using Ids = Tensor<Token, Shape<dyn, dyn>, Backend>;
  using Logits = Tensor<T, Shape<dyn, dyn, dyn>, Backend>;
  using Loss = Tensor<compute_t<T>, Shape<>, Backend>;
  using View = ParameterView<T, Backend>;
  struct Cache {
    template <class... Arguments>
    explicit Cache(const Arguments&...) {}
  };
  static constexpr const Config& config = C;
  static constexpr detail::AnyNumber parameter_count{};

  static LLM random(std::uint64_t) { return {}; }
  static LLM uninitialised() { return {}; }
  Logits operator()(const Ids&) const { return {}; }
  template <class KV>
  Logits operator()(const Ids&, KV&, std::int64_t = 0) const {
    return {};
  }
  template <class KV>
  Tensor<T, Shape<dyn, dyn>, Backend> last_logits(const Ids&, KV&, std::int64_t = 0) const {
    return {};
  }
  template <class... Arguments>
  Loss loss(const Arguments&...) const {
    return {};
  }
  template <class F>
  void for_each_parameter(F&&) const {}
};

}  // namespace llm
