// Softmax over the last axis.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct SoftmaxOp {
  Saved<T> y;
  Grad<T, Backend> d_x, d_y;
  std::int64_t rows, columns;

  void backward() {
    const auto dx = d_x.write();
    Backend::template softmax_backward<T>(d_y.read(), y.data(), dx.data, rows, columns, dx.add);
  }
};

}  // namespace detail

/// exp(x - max) / sum over the last axis; entries of -inf get probability 0. Saves y.
template <class T, class S, class Backend>
Tensor<T, S, Backend> softmax(const Tensor<T, S, Backend>& x) {
  static_assert(detail::is_feature<T>, "llm::softmax(x): x must be float, double or llm::bf16");
  const std::int64_t rows = detail::rows(x.shape()), columns = detail::last(x.shape());
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  if constexpr (detail::is_feature<T>) {
    Backend::template softmax_forward<T>(x.data(), y.data(), rows, columns);
    if (Tape* const tape = recording(x)) {
      const auto d_y = output_gradient(y);
      using G = Grad<T, Backend>;
      tape->record(y, detail::SoftmaxOp<T, Backend>{Saved<T>(y), G(x), d_y, rows, columns});
    }
  }
  return y;
}

}  // namespace llm
