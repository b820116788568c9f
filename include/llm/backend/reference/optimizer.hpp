// One AdamW step. Source: arXiv:1711.05101, in the order of operations of torch.optim.AdamW.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// Updates n elements of a parameter from their gradients, and the moments m and v. A non-null master holds the parameters in full
/// precision: it is updated, and param gets it rounded; with null the parameter itself is updated. Moments and master are compute_t<T>,
/// never narrower than float: in bf16 an update of 1e-3 is lost. Nor are the gradients, which add up over the batches of a step.
template <class T, class Moment>
void adamw(const AdamWArgs& args, double weight_decay, T* param, std::type_identity_t<Moment>* master, const compute_t<T>* grad, Moment* m,
           Moment* v, std::int64_t n) {
  static_assert(std::same_as<Moment, compute_t<T>>,
                "llm::adamw(param T, master, grad, m, v): master and moments must be compute_t<T> (float, double for double)");
  using C = compute_t<T>;
  for (std::int64_t i = 0; i < n; ++i) {
    const C g = grad[i] * C(args.grad_scale);
    m[i] = Moment(C(args.beta1) * C(m[i]) + C(1 - args.beta1) * g);
    v[i] = Moment(C(args.beta2) * C(v[i]) + C(1 - args.beta2) * g * g);
    const C decayed = (master != nullptr ? C(master[i]) : C(param[i])) * C(1 - args.lr * weight_decay);
    const C denominator = std::sqrt(C(v[i])) / C(std::sqrt(args.correction2)) + C(args.eps);
    const C updated = decayed - C(args.lr / args.correction1) * C(m[i]) / denominator;
    if (master != nullptr) master[i] = Moment(updated);
    param[i] = T(updated);
  }
}

/// The same for `count` parameters.
template <class T>
void adamw(const AdamWArgs& args, const AdamWPart<T>* parts, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const AdamWPart<T>& p = parts[i];
    adamw<T>(args, p.weight_decay, p.param, p.master, p.grad, p.m, p.v, p.n);
  }
}

}  // namespace llm::reference
