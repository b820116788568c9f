// A tensor times a number.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct ScaleOp {
  double factor;
  Grad<T, Backend> d_x, d_y;

  void backward() {
    const std::int64_t n = d_y.numel();
    const T* const dy = d_y.read();
    const auto dx = d_x.write_over(d_y);
    if (dx.add) {
      auto scaled = Tensor<T, Shape<dyn>, Backend>::empty({n});
      Backend::template copy<T>(scaled.data(), dy, n);
      Backend::template scale<T>(scaled.data(), n, factor);
      return Backend::template accumulate<T>(dx.data, scaled.data(), n);
    }
    if (dx.data != dy) Backend::template copy<T>(dx.data, dy, n);
    Backend::template scale<T>(dx.data, n, factor);
  }
};

}  // namespace detail

/// y = factor x. Saves nothing. An x that is given away lends y its memory, see llm::reuse.
template <class T, class S, class Backend>
Tensor<T, S, Backend> scale(Tensor<T, S, Backend> x, double factor) {
  static_assert(detail::is_feature<T>, "llm::scale(x, factor): x must be float, double or llm::bf16");
  auto y = reuse(x);
  if (y.data() != x.data()) Backend::template copy<T>(y.data(), x.data(), y.numel());
  Backend::template scale<T>(y.data(), y.numel(), factor);
  if (Tape* const tape = recording(x)) {
    const auto d_y = output_gradient(y);
    tape->record(y, detail::ScaleOp<T, Backend>{factor, Grad<T, Backend>(x), d_y});
  }
  return y;
}

}  // namespace llm
