// The losses that keep a mixture's experts in balance: what routers note in a pass, and what that adds to the loss.
#pragma once

#include <vector>

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>

namespace llm {

/// What a model's loss is the sum of: cross_entropy + router_aux_coef * router_aux + router_z_coef * router_z. With
/// TrainingOptions::denominator the cross-entropy is divided by it, and the coefficients are Config's times counted targets / denominator.
struct LossParts {
  double cross_entropy = 0;
  double router_aux = 0;  // of all routers; the number of active experts when all are used and scored alike, more when choices crowd
  double router_z = 0;    // mean square of the routers' log sum exp
  double router_aux_coef = 0, router_z_coef = 0;  // 0 where the loss has none
  std::vector<double> expert_use;  // the share of all choices that fell on each expert, over all layers; empty without experts
};

/// Where the routers of one pass note what they chose. Empty: they note nothing.
class RouterLog {
 public:
  RouterLog() = default;

  /// Room for so many routers. Recorded first on a tape, it lives until backward has ended.
  template <class C, class Backend>
  static RouterLog begin(std::int64_t routers, std::int64_t experts) {
    auto numbers = Tensor<C, Shape<dyn>, Backend>::empty({numel(routers, experts)});
    RouterLog log;
    log.buffer_ = numbers.buffer();
    log.experts_ = experts;
    Backend::template fill<C>(log.losses<C>() + RouterLossArgs::gradient, 1, 0.0);
    if (Tape* const tape = Tape::current()) {
      output_gradient(numbers);
      tape->record(numbers, Keep{log.buffer_});
    }
    return log;
  }
  static constexpr std::int64_t numel(std::int64_t routers, std::int64_t experts) {
    return experts + RouterLossArgs::slopes + routers * (2 * experts + 1);
  }

  explicit operator bool() const { return static_cast<bool>(buffer_); }
  /// The same for one router of the pass.
  RouterLog of_router(std::int64_t number) const {
    RouterLog log = *this;
    log.router_ = number;
    return log;
  }
  /// Where this router's statistics stand, those of the first before those of the others; see RouterLossArgs.
  template <class C>
  C* statistics() const {
    return losses<C>() + RouterLossArgs::slopes + experts_ + router_ * (2 * experts_ + 1);
  }
  template <class C>
  C* losses() const {
    return static_cast<C*>(buffer_->data);
  }

 private:
  struct Keep {
    detail::BufferRef buffer;
    void backward() {}
  };

  detail::BufferRef buffer_;
  std::int64_t experts_ = 0, router_ = 0;
};

namespace detail {

/// Tells the routers, whose backward comes later, the gradient of what they added to the loss.
template <class C, class Backend>
struct RouterLossesOp {
  RouterLog log;
  Grad<C, Backend> d_loss, d_y;

  void backward() {
    Backend::template copy<C>(log.losses<C>() + RouterLossArgs::gradient, d_y.read(), 1);
    d_loss.share(d_y);
  }
};

/// Copies to the host what the routers noted.
template <class C, class Backend>
void read_parts(const RouterLog& log, const RouterLossArgs& args, LossParts& parts) {
  const auto read = [](const C* from) {
    C value;
    Backend::memory::copy_to_host(&value, from, sizeof(C));
    return static_cast<double>(value);
  };
  const C* const losses = log.losses<C>();
  parts.router_aux = read(losses + RouterLossArgs::aux_loss);
  parts.router_z = read(losses + RouterLossArgs::z_loss);
  parts.router_aux_coef = args.aux;
  parts.router_z_coef = args.z;
  parts.expert_use.assign(static_cast<std::size_t>(args.experts), 0.0);
  std::vector<C> counts(parts.expert_use.size());
  double choices = 0;
  for (std::int64_t i = 0; i < args.routers; ++i) {
    Backend::memory::copy_to_host(counts.data(), log.of_router(i).template statistics<C>(), counts.size() * sizeof(C));
    for (std::size_t e = 0; e < counts.size(); ++e) {
      parts.expert_use[e] += static_cast<double>(counts[e]);
      choices += static_cast<double>(counts[e]);
    }
  }
  for (double& use : parts.expert_use) use /= choices;
}

}  // namespace detail

/// loss [] and the router losses of a pass whose routers noted in `log`. parts: filled, but for the cross-entropy, unless null.
/// Saves nothing. Source: see RouterLossArgs.
template <class C, class Backend>
Tensor<C, Shape<>, Backend> add_router_losses(const Tensor<C, Shape<>, Backend>& loss, const RouterLog& log, const RouterLossArgs& args,
                                              LossParts* parts = nullptr) {
  Backend::template router_losses<C>(args, log.statistics<C>(), log.losses<C>());
  if (parts) detail::read_parts<C, Backend>(log, args, *parts);
  if (args.aux == 0 && args.z == 0) return loss;
  auto y = Tensor<C, Shape<>, Backend>::empty({});
  Backend::template add<C>(loss.data(), log.losses<C>() + RouterLossArgs::total, y.data(), 1);
  if (Tape* const tape = recording(loss)) {
    const auto d_y = output_gradient(y);
    tape->record(y, detail::RouterLossesOp<C, Backend>{log, Grad<C, Backend>(loss), d_y});
  }
  return y;
}

namespace detail {
/// The mean cross-entropy of a model, without what its routers add to its loss.
template <class Model, class Ids>
double mean_cross_entropy(const Model& model, const Ids& inputs, const Ids& targets) {
  if constexpr (requires { requires Model::router_losses; })
    return static_cast<double>(model.loss(inputs, targets, {.router_losses = false}).item());
  else
    return static_cast<double>(model.loss(inputs, targets).item());
}
}  // namespace detail

}  // namespace llm
