// The router of a mixture of experts: which experts a token passes, and with which weights.
#pragma once

#include <algorithm>
#include <limits>

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>
#include <llm/ops/router_losses.hpp>

namespace llm {

/// How a router chooses; see RouteArgs for what the fields mean.
struct RouteOptions {
  std::int64_t active = 1;
  std::int64_t groups = 1, active_groups = 1;
  bool sigmoid = false;
  bool normalise = true;
  double scale = 1.0;
};

/// What a router chose for R rows.
template <class T, class Backend>
struct Routing {
  Tensor<Token, Shape<dyn, dyn>, Backend> experts;         // [R, active]
  Tensor<compute_t<T>, Shape<dyn, dyn>, Backend> weights;  // [R, active]
  std::int64_t n_experts = 0;
};

namespace detail {

template <class T, class Backend>
struct RouteOp {
  RouteArgs args;
  Saved<T> logits;
  Saved<Token> experts;
  Grad<T, Backend> d_logits;
  Grad<compute_t<T>, Backend> d_weights;
  RouterLog log;

  void backward() {
    const auto d = d_logits.write();
    Backend::template route_backward<T>(args, logits.data(), experts.data(), d_weights.read(), d.data, d.add);
    if (log) Backend::template router_losses_backward<T>(args, logits.data(), log.losses<compute_t<T>>(), d.data);
  }
};

inline RouteArgs route_args(std::int64_t rows, std::int64_t experts, const RouteOptions& o) {
  constexpr const char* name = "llm::route(logits [..., experts], options)";
  const auto require = [&](bool holds, const char* what, std::int64_t value, std::int64_t limit) {
    if (!holds) throw ValueError(concat(name, ": ", what, " ", value, " is not in 1 .. ", limit));
  };
  require(o.active >= 1 && o.active <= experts, "active", o.active, experts);
  require(o.groups >= 1 && o.groups <= experts && experts % o.groups == 0, "groups, which divide the experts,", o.groups, experts);
  const std::int64_t most = (std::min)(o.groups, RouteArgs::most_active_groups);
  require(o.active_groups >= 1 && (o.active_groups <= most || o.active_groups == o.groups), "active_groups", o.active_groups, most);
  const std::int64_t open = o.active_groups * (experts / o.groups);
  require(o.active <= open, "active, of the experts in active groups,", o.active, open);
  if (rows > (std::numeric_limits<Token>::max)() / o.active)
    throw ShapeError(concat(name, ": ", rows, " rows of ", o.active, " choices are more than 2^31 - 1"));
  return {rows, experts, o.active, o.groups, o.active_groups, o.sigmoid, o.normalise, o.scale};
}

}  // namespace detail

/// The experts that each row of logits [..., experts] chooses, and their weights. bias [experts] or null, for the choice alone: it gets no
/// gradient. log: where to note what was chosen, for add_router_losses; the gradient of those losses comes with that of the weights.
/// Throws ValueError for options that do not fit. Saves the logits and the choice.
/// Source: arXiv:2401.04088, 2412.19437; see RouteArgs.
template <class T, class S, class Backend>
Routing<T, Backend> route(const Tensor<T, S, Backend>& logits, const RouteOptions& options, const T* bias = nullptr,
                          const RouterLog& log = {}) {
  static_assert(detail::is_feature<T>, "llm::route(logits [..., experts], options): logits must be float, double or llm::bf16");
  const RouteArgs args = detail::route_args(detail::rows(logits.shape()), detail::last(logits.shape()), options);
  Routing<T, Backend> routing;
  routing.n_experts = args.experts;
  routing.experts = decltype(routing.experts)::empty({args.rows, args.active});
  routing.weights = decltype(routing.weights)::empty({args.rows, args.active});
  Backend::template route_forward<T>(args, logits.data(), bias, routing.experts.data(), routing.weights.data());
  if (log) Backend::template router_statistics<T>(args, logits.data(), routing.experts.data(), log.statistics<compute_t<T>>());
  if (Tape* const tape = recording(logits)) {
    const auto d_weights = output_gradient(routing.weights);
    tape->record(routing.weights, detail::RouteOp<T, Backend>{args, Saved<T>(logits), Saved<Token>(routing.experts),
                                                              Grad<T, Backend>(logits), d_weights, log});
  }
  return routing;
}

}  // namespace llm
