// AdamW with decoupled weight decay on matrices, moments and master weights in f32 (f64 for f64).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <llm/backend/concept.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;  // of matrices; gains and biases are not decayed
};

namespace detail {
/// One number or two.
template <class... Arguments>
inline constexpr bool step_numbers = false;
template <class T>
inline constexpr bool step_numbers<T> = std::is_convertible_v<const T&, double>;
template <class T, class U>
inline constexpr bool step_numbers<T, U> = step_numbers<T>&& step_numbers<U>;
}  // namespace detail

/// What AdamW keeps for one parameter. `master` is empty when the parameter itself has the moments' precision.
template <class T, class Backend>
struct AdamWState {
  using Moment = Tensor<compute_t<T>, Shape<dyn>, Backend>;
  static_assert(sizeof(compute_t<T>) >= sizeof(float), "llm::AdamW: moments and master weights must be at least f32");
  ParameterView<T, Backend> parameter;
  Moment m, v, master;
};

/// Updates a model's parameters from their gradients. The optimizer shares the parameters with the model, which must not be
/// replaced meanwhile; moving the model is fine. Source: arXiv:1711.05101, computed as torch.optim.AdamW.
template <class T, class Backend>
class AdamW {
 public:
  using State = AdamWState<T, Backend>;
  static constexpr bool has_master = sizeof(T) < sizeof(compute_t<T>);

  template <class Model>
  explicit AdamW(Model& model, const AdamWOptions& options = {}) : options_(options) {
    static_assert(!std::is_const_v<Model>, "llm::AdamW(model): the model is const, but an optimizer changes its parameters");
    check(options);
    if constexpr (!std::is_const_v<Model>) model.for_each_parameter([&](auto& p) { add(p); });
  }

  /// One update with learning rate lr from gradients clipped to a global norm of at most max_grad_norm, as by
  /// torch.nn.utils.clip_grad_norm_ (source: arXiv:1211.5063); consumes and clears the gradients. Returns their norm before clipping. A
  /// parameter without gradient is left alone.
  /// Throws NumericError when a gradient is not finite: no weight, moment or gradient is changed then.
  double step(double lr, double max_grad_norm = std::numeric_limits<double>::infinity()) {
    if (!(lr >= 0.0 && std::isfinite(lr)))
      throw ValueError(detail::concat("llm::AdamW::step: learning rate ", lr, " must be finite and not negative"));
    if (!(max_grad_norm > 0.0)) throw ValueError(detail::concat("llm::AdamW::step: max_grad_norm ", max_grad_norm, " must be positive"));
    const double norm = gradient_norm();
    ++steps_;
    AdamWArgs args{.lr = lr, .beta1 = options_.beta1, .beta2 = options_.beta2, .eps = options_.eps};
    args.correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
    args.correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
    args.grad_scale = (std::min)(1.0, max_grad_norm / (norm + 1e-6));
    update(args);
    return norm;
  }

  /// Anything that is no learning rate.
  template <class... Other>
  requires(!detail::step_numbers<Other...>) void step(const Other&...) {
    static_assert(detail::step_numbers<Other...>,
                  "llm::AdamW::step(lr, max_grad_norm): the learning rate of this step comes first, a number, then at most the norm that "
                  "gradients are clipped to (hint: step(schedule(s)) for a schedule)");
  }

  /// Updates made so far.
  std::int64_t steps() const { return steps_; }
  /// For a run that goes on. Throws ValueError when negative.
  void set_steps(std::int64_t steps) {
    if (steps < 0) throw ValueError(detail::concat("llm::AdamW::set_steps: ", steps, " is negative"));
    steps_ = steps;
  }
  const AdamWOptions& options() const { return options_; }
  /// Moments and master weights in the model's parameter order, for checkpoints.
  std::vector<State>& states() { return states_; }
  const std::vector<State>& states() const { return states_; }

 private:
  void add(ParameterView<T, Backend>& p) {
    using Moment = typename State::Moment;
    const Shape<dyn> shape(p.numel());
    State state{p, Moment::zeros(shape), Moment::zeros(shape), {}};
    if constexpr (has_master) {
      state.master = Moment::empty(shape);
      Backend::template convert<compute_t<T>, T>(state.master.data(), std::as_const(state).parameter.tensor().data(), p.numel());
    }
    states_.push_back(std::move(state));
  }
  static void check(const AdamWOptions& o) {
    const auto fraction = [](double x) { return x >= 0.0 && x < 1.0; };
    if (!fraction(o.beta1) || !fraction(o.beta2) || !(o.eps > 0.0) || !(o.weight_decay >= 0.0))
      throw ValueError(detail::concat("llm::AdamW: beta1 ", o.beta1, " and beta2 ", o.beta2, " in [0, 1), eps ", o.eps,
                                      " > 0 and weight_decay ", o.weight_decay, " >= 0 are required"));
  }
  /// f(state) for each parameter that has a gradient.
  template <class F>
  void for_each_with_gradient(const F& f) {
    for (State& s : states_)
      if (s.parameter.tensor().has_grad()) f(s);
  }
  using Gradient = Elements<compute_t<T>>;
  static Gradient gradient(const State& s) { return {s.parameter.tensor().grad().data(), s.parameter.numel()}; }

  double gradient_norm() {
    gradients_.clear();
    for_each_with_gradient([&](const State& s) { gradients_.push_back(gradient(s)); });
    const double squares = sum_of_squares(gradients_.data(), gradients_.size());
    if (!std::isfinite(squares)) report_not_finite();
    return std::sqrt(squares);
  }
  static double sum_of_squares(const Gradient* arrays, std::size_t count) {
    return Backend::template sum_of_squares<compute_t<T>>(arrays, static_cast<std::int64_t>(count));
  }
  [[noreturn]] void report_not_finite() {
    std::string name;  // stays empty when only the sum of all is too large
    for_each_with_gradient([&](const State& s) {
      const Gradient one = gradient(s);
      if (name.empty() && !std::isfinite(sum_of_squares(&one, 1))) name = s.parameter.name();
    });
    if (name.empty()) name = "the model";
    throw NumericError(detail::concat("llm::AdamW::step: the gradient of ", name, " is not finite; no weight was changed"));
  }

  void update(const AdamWArgs& args) {
    parts_.clear();
    for_each_with_gradient([&](State& s) {
      const Gradient grad = gradient(s);
      const double decay = s.parameter.is_matrix() ? options_.weight_decay : 0.0;
      parts_.push_back({s.parameter.tensor().data(), s.master.data(), grad.data, s.m.data(), s.v.data(), grad.n, decay});
    });
    Backend::template adamw<T>(args, parts_.data(), static_cast<std::int64_t>(parts_.size()));
    for_each_with_gradient([](State& s) { s.parameter.tensor().clear_grad(); });
  }

  AdamWOptions options_;
  std::vector<State> states_;
  std::vector<Gradient> gradients_;  // of one step; kept, so that the next allocates nothing
  std::vector<AdamWPart<T>> parts_;
  std::int64_t steps_ = 0;
};

namespace detail {
template <class Model>
inline constexpr bool lists_parameters = ListsParameters<Model>;
template <class Model, class Options>
struct NoOptimizer {};
}  // namespace detail

/// What stands for the optimizer of something else: it reports that.
template <class Model, class Options>
class AdamW<detail::NoOptimizer<Model, Options>, void> {
 public:
  explicit AdamW(Model&, const Options& = {}) {
    static_assert(!detail::is_frozen_model<Model>,
                  "llm::AdamW(model, options): the weights of the model are llm::Frozen and have no gradients (hint: "
                  "llm::load_trainable<config>(path) gives a model that can be trained)");
    static_assert(detail::lists_parameters<Model> || detail::is_frozen_model<Model>,
                  "llm::AdamW(model, options): the first argument must be a model, as llm::LLM is");
    if constexpr (detail::lists_parameters<Model>)
      static_assert(std::is_convertible_v<Options, AdamWOptions>,
                    "llm::AdamW(model, options): the second argument must be llm::AdamWOptions (hint: the learning rate goes to step(lr))");
  }
  double step(double, double = 0) { return 0; }
};

template <class Model>
requires(!detail::is_frozen_model<Model>) AdamW(Model&, const AdamWOptions&)
->AdamW<typename Model::T, typename Model::backend_type>;
template <class Model>
requires(!detail::is_frozen_model<Model>) AdamW(Model&)
->AdamW<typename Model::T, typename Model::backend_type>;
template <class Other, class Options = AdamWOptions>
requires(!detail::ListsParameters<Other> || !std::is_convertible_v<Options, AdamWOptions>) AdamW(Other&, const Options&)
->AdamW<detail::NoOptimizer<Other, Options>, void>;
template <class Other>
requires(!detail::ListsParameters<Other>) AdamW(Other&)
->AdamW<detail::NoOptimizer<Other, AdamWOptions>, void>;

}  // namespace llm
