// Activation recompute: forget what a block saved, and run it again in backward.
#pragma once

#include <llm/autograd/gradient.hpp>

namespace llm {

namespace detail {

template <class F, class T, class S, class Backend>
struct RecomputeOp {
  F function;
  Tensor<T, S, Backend> x;
  Grad<T, Backend> d_x;
  Tensor<T, S, Backend> gradient_of_y;  // y without its elements

  void backward() {
    auto input = x.detach();
    input.set_slot(new_slot(false));
    {
      Tape tape;
      const auto again = function(input);
      tape.backward(again, Tensor<T, S, Backend>(gradient_of_y.slot()->grad, {}, gradient_of_y.shape()));
    }
    if (input.has_grad()) d_x.share(Grad<T, Backend>(input));
  }
};

/// What recompute's function gives is what it takes.
template <class Input, class Result>
inline constexpr bool keeps_type = std::is_same_v<Input, Result>;

template <class F, class T, class S, class Backend>
Tensor<T, S, Backend> recompute(F f, const Tensor<T, S, Backend>& x) {
  Tape* const tape = Tape::current();
  if (!tape) return f(x);
  Tensor<T, S, Backend> y = [&] {
    const NoTape off;
    return f(x).detach();
  }();
  output_gradient(y);
  const Tensor<T, S, Backend> gradient_of_y({}, y.slot(), y.shape());
  tape->record(y, detail::RecomputeOp<F, T, S, Backend>{std::move(f), x.detach(), Grad<T, Backend>(x), gradient_of_y});
  return y;
}

}  // namespace detail

/// y = f(x), keeping only x: backward runs f again on a tape of its own. f must give the same result both times and may use tracked
/// parameters. x and y have the same shape. Without a recording tape this is f(x).
template <class F, class T, class S, class Backend>
Tensor<T, S, Backend> recompute(F f, const Tensor<T, S, Backend>& x) {
  using Result = std::remove_cvref_t<decltype(f(x))>;
  static_assert(detail::keeps_type<Tensor<T, S, Backend>, Result>,
                "llm::recompute(f, x): f(x) must have the element type, shape and backend of x");
  if constexpr (detail::keeps_type<Tensor<T, S, Backend>, Result>)
    return detail::recompute(std::move(f), x);
  else
    return {};
}

}  // namespace llm
