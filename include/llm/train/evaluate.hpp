// Validation: the mean loss on a text, and the check that a loss is a number.
#pragma once

#include <cmath>

#include <llm/autograd/tape.hpp>
#include <llm/core/error.hpp>
#include <llm/train/batches.hpp>

namespace llm {

/// Mean loss in nats of every target of the batches. Records nothing and changes neither the model nor any random number, so
/// that training goes on as if it had not happened. `batches` may be a temporary:
/// `evaluate(model, llm::sequential_windows(tokens, {.batch = 16, .length = 64}))`.
template <class Model, class Batches>
double evaluate(const Model& model, Batches&& batches) {
  const NoTape inference_only;
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& batch : batches) {
    const std::int64_t targets = batch.targets.numel();
    sum += static_cast<double>(model.loss(batch.inputs, batch.targets).item()) * static_cast<double>(targets);
    count += targets;
  }
  if (count == 0) throw ValueError("llm::evaluate: there are no batches");
  return sum / static_cast<double>(count);
}

/// The loss as a number. Throws NumericError when it is not finite: call it before backward, and no weight changes then.
template <class T, class Backend>
double finite_loss(const Tensor<T, Shape<>, Backend>& loss) {
  const auto value = static_cast<double>(loss.item());
  if (!std::isfinite(value)) throw NumericError(detail::concat("llm::finite_loss: the loss is ", value, "; no weight was changed"));
  return value;
}

}  // namespace llm
