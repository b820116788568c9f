// A model's gradients as a whole: their global norm, clipping by it, and forgetting them.
#pragma once

#include <cmath>
#include <utility>

#include <llm/backend/concept.hpp>
#include <llm/core/error.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

/// Euclidean norm over all parameters' gradients. Sums in double.
template <class Model>
double grad_norm(Model& model) {
  double squares = 0.0;
  model.for_each_parameter([&](auto& p) {
    using Backend = typename std::remove_cvref_t<decltype(p.tensor())>::backend_type;
    using T = typename std::remove_cvref_t<decltype(p.tensor())>::value_type;
    if (!p.tensor().has_grad()) return;
    const Elements<gradient_t<T>> gradient{std::as_const(p).tensor().grad().data(), p.numel()};
    squares += Backend::template sum_of_squares<gradient_t<T>>(&gradient, 1);
  });
  return std::sqrt(squares);
}

/// For an optimizer of your own (AdamW::step clips in its own pass): scales all gradients by min(1, max_norm / (norm + 1e-6)), as
/// torch.nn.utils.clip_grad_norm_, and returns the norm before.
/// Throws NumericError when the norm is not finite; nothing is changed then. Source: arXiv:1211.5063.
template <class Model>
double clip_grad_norm(Model& model, double max_norm) {
  const double norm = grad_norm(model);
  if (!std::isfinite(norm))
    throw NumericError(detail::concat("llm::clip_grad_norm: the gradient norm is ", norm, "; no weight was changed"));
  if (!(max_norm > 0.0)) throw ValueError(detail::concat("llm::clip_grad_norm: max_norm ", max_norm, " must be positive"));
  const double scale = max_norm / (norm + 1e-6);
  if (scale >= 1.0) return norm;
  model.for_each_parameter([&](auto& p) {
    using Backend = typename std::remove_cvref_t<decltype(p.tensor())>::backend_type;
    using T = typename std::remove_cvref_t<decltype(p.tensor())>::value_type;
    if (p.tensor().has_grad()) Backend::template scale<gradient_t<T>>(p.tensor().grad().data(), p.numel(), scale);
  });
  return norm;
}

/// Forgets all gradients: to go on after a step that was refused. AdamW::step clears them by itself.
template <class Model>
void clear_gradients(Model& model) {
  model.for_each_parameter([](auto& p) { p.tensor().clear_grad(); });
}

}  // namespace llm
