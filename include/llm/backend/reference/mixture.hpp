// Mixtures of experts: the router's choice and its gradient, and the rows of tokens sorted by expert and brought back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/softmax.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// The scores of one row of logits, one at a time: its softmax, or the sigmoid of each.
template <class T>
class RouterScores {
 public:
  using C = compute_t<T>;
  RouterScores(const RouteArgs& args, const T* logits)
      : logits_(logits), log_total_(args.sigmoid ? C(0) : log_sum_exp(logits, args.experts)), sigmoid_(args.sigmoid) {}
  C logit(std::int64_t e) const { return C(logits_[e]); }
  C operator()(std::int64_t e) const {
    const C logit = C(logits_[e]);
    return sigmoid_ ? C(1) / (C(1) + std::exp(-logit)) : std::exp(logit - log_total_);
  }
  /// log sum exp of the logits; 0 for sigmoids, which need none.
  C log_total() const { return log_total_; }

 private:
  const T* logits_;
  C log_total_;
  bool sigmoid_;
};

/// Chooses the experts of one row. What is chosen already is marked by its place among `chosen`, so that no memory is needed.
template <class T>
class RouterChoice {
 public:
  using C = compute_t<T>;
  RouterChoice(const RouteArgs& args, const RouterScores<T>& scores, const T* bias) : args_(args), scores_(scores), bias_(bias) {}

  void operator()(std::int32_t* chosen) const {
    std::int32_t groups[RouteArgs::most_active_groups];
    const bool grouped = args_.groups > 1 && args_.active_groups < args_.groups;
    if (grouped)
      for (std::int64_t i = 0; i < args_.active_groups; ++i)
        groups[i] = best(args_.groups, groups, i, [&](std::int64_t g) { return group_rank(g); });
    const auto open = [&](std::int64_t e) {
      return !grouped || contains(groups, args_.active_groups, static_cast<std::int32_t>(e / group_size()));
    };
    for (std::int64_t j = 0; j < args_.active; ++j)
      chosen[j] = best(args_.experts, chosen, j, [&](std::int64_t e) { return open(e) ? rank(e) : -infinity; });
  }

 private:
  static constexpr C infinity = std::numeric_limits<C>::infinity();

  std::int64_t group_size() const { return args_.experts / args_.groups; }
  /// Without a bias the logits have the order of the scores.
  C rank(std::int64_t e) const { return bias_ == nullptr ? scores_.logit(e) : scores_(e) + C(bias_[e]); }
  C group_rank(std::int64_t g) const {
    C first = -infinity, second = -infinity;
    for (std::int64_t e = g * group_size(); e < (g + 1) * group_size(); ++e) {
      const C value = rank(e);
      if (value > first)
        second = first, first = value;
      else if (value > second)
        second = value;
    }
    return bias_ == nullptr || group_size() < 2 ? first : first + second;
  }
  static bool contains(const std::int32_t* some, std::int64_t count, std::int32_t value) {
    return std::find(some, some + count, value) != some + count;
  }
  /// The first of `count` with the highest value that is not among the `taken`; one of them also where values are NaN.
  template <class Value>
  static std::int32_t best(std::int64_t count, const std::int32_t* taken, std::int64_t taken_count, const Value& value) {
    std::int32_t best = -1;
    C highest = -infinity;
    for (std::int64_t i = 0; i < count; ++i) {
      if (contains(taken, taken_count, static_cast<std::int32_t>(i))) continue;
      const C v = value(i);
      if (best < 0 || v > highest) best = static_cast<std::int32_t>(i), highest = v;
    }
    return best;
  }

  const RouteArgs& args_;
  const RouterScores<T>& scores_;
  const T* bias_;
};

/// experts and weights [rows, active] of logits [rows, experts]; bias [experts] or null. See RouteArgs.
template <class T>
void route_forward(const RouteArgs& args, const T* logits, const T* bias, std::int32_t* experts, compute_t<T>* weights) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const RouterScores<T> scores(args, logits + r * args.experts);
    std::int32_t* const chosen = experts + r * args.active;
    C* const out = weights + r * args.active;
    RouterChoice<T>(args, scores, bias)(chosen);
    C total = 0;
    for (std::int64_t j = 0; j < args.active; ++j) total += out[j] = scores(chosen[j]);
    const C factor = C(args.scale) / (args.normalise ? total + (std::numeric_limits<C>::min)() : C(1));
    for (std::int64_t j = 0; j < args.active; ++j) out[j] *= factor;
  }
}

/// d logits of the weights alone: which experts are chosen has no gradient. Writes all of dlogits [rows, experts].
template <class T>
void route_backward(const RouteArgs& args, const T* logits, const std::int32_t* experts, const compute_t<T>* dweights, T* dlogits,
                    bool add) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const RouterScores<T> scores(args, logits + r * args.experts);
    const std::int32_t* const chosen = experts + r * args.active;
    const C* const dw = dweights + r * args.active;
    T* const out = dlogits + r * args.experts;
    C total = 0, dot = 0;  // of the chosen: the sum of scores, and of scores times gradients
    for (std::int64_t j = 0; j < args.active; ++j) total += scores(chosen[j]), dot += scores(chosen[j]) * dw[j];
    total = args.normalise ? total + (std::numeric_limits<C>::min)() : C(1);
    const auto d_score = [&](std::int64_t j) { return C(args.scale) * (dw[j] - (args.normalise ? dot / total : C(0))) / total; };
    C mean = 0;  // of the gradients under the softmax
    for (std::int64_t j = 0; j < args.active && !args.sigmoid; ++j) mean += scores(chosen[j]) * d_score(j);
    for (std::int64_t e = 0; e < args.experts; ++e) {
      const auto* const at = std::find(chosen, chosen + args.active, static_cast<std::int32_t>(e));
      const C d = at == chosen + args.active ? C(0) : d_score(at - chosen), p = scores(e);
      store(out[e], args.sigmoid ? d * p * (C(1) - p) : p * (d - mean), add);
    }
  }
}

/// A row's shares of the experts, its scores to a sum of 1: the softmax, or sigmoids divided by their sum.
template <class T>
class RouterShares {
 public:
  using C = compute_t<T>;
  RouterShares(const RouteArgs& args, const T* logits)
      : scores_(args, logits), sigmoid_(args.sigmoid), log_total_(args.sigmoid ? log_sum_exp(logits, args.experts) : scores_.log_total()) {
    if (!sigmoid_) return;
    total_ = (std::numeric_limits<C>::min)();
    for (std::int64_t e = 0; e < args.experts; ++e) total_ += scores_(e);
  }
  C operator()(std::int64_t e) const { return scores_(e) / total_; }
  C log_total() const { return log_total_; }
  C softmax(std::int64_t e) const { return sigmoid_ ? std::exp(scores_.logit(e) - log_total_) : scores_(e); }
  /// d share[i] / d logit[e] is share[e] slope(e) (1 if i is e, else 0, - share[i]).
  C slope(std::int64_t e) const { return sigmoid_ ? C(1) - scores_(e) : C(1); }

 private:
  RouterScores<T> scores_;
  bool sigmoid_;
  C log_total_, total_ = 1;
};

/// Sums over the rows: statistics [2 experts + 1] = how many rows chose each expert, its shares, and the squares of log sum exp(logits).
template <class T>
void router_statistics(const RouteArgs& args, const T* logits, const std::int32_t* experts, compute_t<T>* statistics) {
  using C = compute_t<T>;
  std::fill(statistics, statistics + 2 * args.experts + 1, C(0));
  C* const shares = statistics + args.experts;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const RouterShares<T> share(args, logits + r * args.experts);
    for (std::int64_t j = 0; j < args.active; ++j) statistics[experts[r * args.active + j]] += C(1);
    for (std::int64_t e = 0; e < args.experts; ++e) shares[e] += share(e);
    shares[args.experts] += share.log_total() * share.log_total();
  }
}

/// The losses of all routers of a pass from their statistics [routers, 2 experts + 1], see RouterLossArgs.
template <class C>
void router_losses(const RouterLossArgs& args, const C* statistics, C* losses) {
  const std::int64_t E = args.experts, width = 2 * E + 1;
  const auto rows = static_cast<double>(args.routers * args.rows);
  const auto mean = [&](std::int64_t at) {
    double total = 0;
    for (std::int64_t i = 0; i < args.routers; ++i) total += static_cast<double>(statistics[i * width + at]);
    return total / rows;
  };
  double aux = 0;
  for (std::int64_t e = 0; e < E; ++e) {
    const double chosen = mean(e) * static_cast<double>(E);
    aux += chosen * mean(E + e);
    losses[RouterLossArgs::slopes + e] = C(args.aux * chosen / rows);
  }
  const double z = mean(2 * E);
  losses[RouterLossArgs::total] = C(args.aux * aux + args.z * z);
  losses[RouterLossArgs::aux_loss] = C(aux);
  losses[RouterLossArgs::z_loss] = C(z);
  losses[RouterLossArgs::gradient] = C(0);
  losses[RouterLossArgs::z_slope] = C(2 * args.z / rows);
}

/// Adds the gradient of the losses to dlogits [rows, experts]. How many rows chose an expert has no gradient.
template <class T>
void router_losses_backward(const RouteArgs& args, const T* logits, const compute_t<T>* losses, T* dlogits) {
  using C = compute_t<T>;
  const C upstream = losses[RouterLossArgs::gradient], z_slope = losses[RouterLossArgs::z_slope];
  const C* const slopes = losses + RouterLossArgs::slopes;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const RouterShares<T> share(args, logits + r * args.experts);
    C mean = 0;
    for (std::int64_t e = 0; e < args.experts; ++e) mean += share(e) * slopes[e];
    for (std::int64_t e = 0; e < args.experts; ++e) {
      const C aux = share(e) * share.slope(e) * (slopes[e] - mean), z = z_slope * share.log_total() * share.softmax(e);
      store(dlogits[r * args.experts + e], upstream * (aux + z), true);
    }
  }
}

/// Sorts `count` choices by their expert, those of one expert in their own order. order and places [count], begins [n_experts + 1].
inline void sort_choices(const std::int32_t* experts, std::int64_t count, std::int64_t n_experts, std::int32_t* order, std::int32_t* places,
                         std::int64_t* begins) {
  std::fill(begins, begins + n_experts + 1, std::int64_t{0});
  for (std::int64_t c = 0; c < count; ++c) ++begins[experts[c] + 1];
  for (std::int64_t e = 0; e < n_experts; ++e) begins[e + 1] += begins[e];
  for (std::int64_t c = 0; c < count; ++c) places[c] = static_cast<std::int32_t>(begins[experts[c]]++);  // begins become ends
  for (std::int64_t e = n_experts; e > 0; --e) begins[e] = begins[e - 1];
  begins[0] = 0;
  for (std::int64_t c = 0; c < count; ++c) order[places[c]] = static_cast<std::int32_t>(c);
}

/// y[place] = x[order[place] / active]; y [count, cols].
template <class T>
void gather_rows(const std::int32_t* order, const T* x, T* y, std::int64_t count, std::int64_t active, std::int64_t cols) {
  for (std::int64_t p = 0; p < count; ++p) std::copy_n(x + order[p] / active * cols, cols, y + p * cols);
}

/// y[place] *= weights[order[place]]; y [count, cols].
template <class T>
void scale_rows(const std::int32_t* order, const compute_t<T>* weights, T* y, std::int64_t count, std::int64_t cols) {
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t c = 0; c < cols; ++c) y[p * cols + c] = T(weights[order[p]] * compute_t<T>(y[p * cols + c]));
}

/// dweights[order[place]] = the dot product of rows `place` of a and b [count, cols].
template <class T>
void row_dots(const std::int32_t* order, const T* a, const T* b, compute_t<T>* dweights, std::int64_t count, std::int64_t cols, bool add) {
  for (std::int64_t p = 0; p < count; ++p) {
    compute_t<T> total = 0;
    for (std::int64_t c = 0; c < cols; ++c) total += compute_t<T>(a[p * cols + c]) * compute_t<T>(b[p * cols + c]);
    store(dweights[order[p]], total, add);
  }
}

/// y[r] = the sum of weights[c] z[places[c]] over the choices c of row r, in their order; weights null: 1. y [rows, cols].
template <class T>
void combine_rows(const std::int32_t* places, const compute_t<T>* weights, const T* z, T* y, std::int64_t rows, std::int64_t active,
                  std::int64_t cols, bool add) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < cols; ++i) {
      compute_t<T> total = 0;
      for (std::int64_t c = r * active; c < (r + 1) * active; ++c)
        total += (weights == nullptr ? compute_t<T>(1) : weights[c]) * compute_t<T>(z[places[c] * cols + i]);
      store(y[r * cols + i], total, add);
    }
}

}  // namespace llm::reference
