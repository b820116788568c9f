// All acceptance checks of a freshly initialised LLM: parameter count, shape, initial loss, causality, residual path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <llm/model/checks.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

/// Sets the matrices that write into the residual stream to zero while it lives, and puts their values back.
template <class Model>
class SilentBranches {
 public:
  explicit SilentBranches(Model& model) : model_(model) {
    for_each_output([&](auto& tensor) {
      kept_.push_back(tensor.clone());
      Backend::template fill<T>(tensor.data(), tensor.numel(), 0.0);
    });
  }
  SilentBranches(const SilentBranches&) = delete;
  SilentBranches& operator=(const SilentBranches&) = delete;
  ~SilentBranches() {
    std::size_t at = 0;
    for_each_output([&](auto& tensor) { Backend::template copy<T>(tensor.data(), std::as_const(kept_[at++]).data(), tensor.numel()); });
  }

 private:
  using T = typename Model::T;
  using Backend = typename Model::backend_type;
  template <class F>
  void for_each_output(F&& f) {
    model_.for_each_parameter([&](auto& p) {
      if (p.kind() == ParameterKind::residual_output) f(p.tensor());
    });
  }

  Model& model_;
  std::vector<Tensor<T, Shape<dyn>, Backend>> kept_;
};

/// Sum over for_each_parameter.
template <class Model>
std::int64_t summed_parameters(const Model& model) {
  std::int64_t sum = 0;
  model.for_each_parameter([&](const auto& p) { sum += p.numel(); });
  return sum;
}

namespace detail {

/// A model as a callable that keeps its last result: checks in a row begin with the same ids.
template <class Model>
class LastForward {
 public:
  explicit LastForward(const Model& model) : model_(model) {}
  typename Model::Logits operator()(const typename Model::Ids& ids) {
    std::vector<Token> values = ids.to_vector();
    if (!logits_ || values != ids_) logits_ = model_(ids);
    ids_ = std::move(values);
    return logits_;
  }

 private:
  const Model& model_;
  std::vector<Token> ids_;
  typename Model::Logits logits_;
};

}  // namespace detail

/// All checks of an LLM fresh from random(): two forward passes and two short ones with silent branches; the model ends as it began.
/// `report` is called with each Check as soon as it is known. True when all passed. length is cut to max_seq_len; more_counts are held
/// against the Config too.
template <class Model, class Report>
bool verify(Model& model, Report&& report, VerifyOptions o = {}, std::span<const NamedCount> more_counts = {}) {
  using Backend = typename Model::backend_type;
  constexpr const Config& c = Model::config;
  o.length = (std::min)(o.length, c.max_seq_len);
  bool passed = true;
  const auto add = [&](const Check& check) {
    passed = passed && check.passed;
    report(check);
  };
  std::vector<NamedCount> counts{{"for_each_parameter", summed_parameters(model)}};
  counts.insert(counts.end(), more_counts.begin(), more_counts.end());
  add(verify_parameter_count(c, counts));
  detail::LastForward<Model> forward(model);
  add(verify_shape<Backend>(forward, c.vocab_size, o));
  add(verify_initial_loss<Backend>(forward, c.vocab_size, c.d_model, o));
  add(verify_causality<Backend>(forward, c.vocab_size, o));
  const SilentBranches silent(model);
  o.length = (std::min)(o.length, std::int64_t{8});
  add(verify_residual<Backend>([&](const typename Model::Ids& ids) { return model(ids); }, c.vocab_size, o));
  return passed;
}

}  // namespace llm
