// Validation: the mean loss on a text, and the check that a loss is a number.
#pragma once

#include <cmath>

#include <llm/autograd/tape.hpp>
#include <llm/core/error.hpp>
#include <llm/ops/cross_entropy.hpp>
#include <llm/ops/router_losses.hpp>
#include <llm/train/batches.hpp>

namespace llm {

namespace detail {
template <class Batches>
inline constexpr bool has_batches = requires(Batches& batches) {
  (*batches.begin()).inputs;
  (*batches.begin()).targets;
};
}  // namespace detail

/// Mean cross-entropy in nats of every target of the batches that is not ignored (-100), without what routers add to a loss. Records
/// nothing and changes neither the model nor any random number, so that training goes on as if it had not happened. `batches` may be a
/// temporary: `evaluate(model, llm::sequential_windows(tokens, {.batch = 16, .length = 64}))`.
template <class Model, class Batches>
requires(detail::has_batches<Batches>) double evaluate(const Model& model, Batches&& batches) {
  const NoTape inference_only;
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& batch : batches) {
    using Backend = typename std::remove_cvref_t<decltype(batch.targets)>::backend_type;
    const double mean = detail::mean_cross_entropy(model, batch.inputs, batch.targets);  // checks the targets
    const std::int64_t targets = Backend::count_targets(batch.targets.data(), batch.targets.numel(), Model::V, LossOptions{}.ignore_index);
    sum += mean * static_cast<double>(targets);
    count += targets;
  }
  if (count == 0) throw ValueError("llm::evaluate: there are no targets");
  return sum / static_cast<double>(count);
}

/// Tokens, or anything else that is no range of batches.
template <class Model, class Batches>
requires(!detail::has_batches<Batches>) double evaluate(const Model&, const Batches&) {
  static_assert(detail::has_batches<Batches>,
                "llm::evaluate(model, batches): batches must be a range, not const, of inputs and targets (hint: "
                "llm::sequential_windows(tokens, {.batch = 16, .length = 64}) makes one)");
  return 0;
}

/// The loss as a number. Throws NumericError when it is not finite: call it before backward, and no weight changes then.
template <class T, class Backend>
double finite_loss(const Tensor<T, Shape<>, Backend>& loss) {
  const auto value = static_cast<double>(loss.item());
  if (!std::isfinite(value)) throw NumericError(detail::concat("llm::finite_loss: the loss is ", value, "; no weight was changed"));
  return value;
}
/// A tensor that is no scalar.
template <class Loss>
requires(!detail::is_scalar<Loss>) double finite_loss(const Loss&) {
  static_assert(detail::is_scalar<Loss>, "llm::finite_loss(loss): the loss must be a tensor of Shape<>, as LLM::loss gives");
  return 0;
}

}  // namespace llm
