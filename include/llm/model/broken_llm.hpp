// What stands for a model whose Config is wrong or not built yet: it reports that, and is otherwise a small model that can be built, so
// that the report is the only error.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include <llm/model/llm.hpp>

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
requires(!buildable_config<C>) class LLM<C, Weights, Backend> : public LLM<detail::stand_in, Weights, Backend> {
  static_assert(sizeof(WhyNotBuildable<C>) > 0);  // no base: clang drops all bases of a class when one of them has an error
  using StandIn = LLM<detail::stand_in, Weights, Backend>;

 public:
  using typename StandIn::Ids, typename StandIn::Logits, typename StandIn::LastLogits, typename StandIn::HiddenStates;
  using Cache = KvCache<C, typename StandIn::T, Backend>;
  static constexpr const Config& config = C;
  static constexpr detail::AnyNumber parameter_count{};

  static LLM random(std::uint64_t seed) { return StandIn::random(seed); }
  static LLM uninitialised() { return StandIn::uninitialised(); }
  LLM clone() const { return StandIn::clone(); }

  using StandIn::operator(), StandIn::last_logits;
  template <class KV>
  Logits operator()(const Ids&, KvCache<C, KV, Backend>&, std::int64_t = 0, HiddenStates* = nullptr) const {
    return {};
  }
  template <class KV>
  LastLogits last_logits(const Ids&, KvCache<C, KV, Backend>&, std::int64_t = 0, HiddenStates* = nullptr) const {
    return {};
  }

 private:
  LLM(StandIn&& model) : StandIn(std::move(model)) {}  // implicit: what the functions above return
};

}  // namespace llm
