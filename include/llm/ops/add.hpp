// Elementwise sum of two tensors of one shape: the residual connection.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct AddOp {
  Grad<T, Backend> d_a, d_b, d_y;

  void backward() {
    d_a.share(d_y);
    d_b.share(d_y);
  }
};

/// y = a + b into y, which may be the memory of either.
template <class T, class SA, class SB, class Backend>
Tensor<T, SA, Backend> add_into(const Tensor<T, SA, Backend>& a, const Tensor<T, SB, Backend>& b, Tensor<T, SA, Backend> y) {
  Backend::template add<T>(a.data(), b.data(), y.data(), y.numel());
  if (Tape* const tape = recording(a, b)) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    tape->record(y, AddOp<T, Backend>{G(a), G(b), d_y});
  }
  return y;
}

template <class SA, class SB>
void check_add(const SA& a, const SB& b) {
  static_assert(same_shape<SA, SB>, "llm::add(a, b), a + b: both tensors must have the same shape");
  for (int i = 0; i < SA::rank && i < SB::rank; ++i)
    require_equal("llm::add(a, b)", "an extent of a", a.extent(i), "that of b", b.extent(i));
}

}  // namespace detail

/// y = a + b, both of the same shape. Saves nothing. A `b` that is given away lends y its memory, see llm::reuse.
template <class T, class SA, class SB, class Backend>
Tensor<T, SA, Backend> add(const Tensor<T, SA, Backend>& a, const Tensor<T, SB, Backend>& b) {
  detail::check_add(a.shape(), b.shape());
  return detail::add_into(a, b, Tensor<T, SA, Backend>::empty(a.shape()));
}
template <class T, class SA, class SB, class Backend>
Tensor<T, SA, Backend> add(const Tensor<T, SA, Backend>& a, Tensor<T, SB, Backend>&& b) {
  detail::check_add(a.shape(), b.shape());
  return detail::add_into(a, b, Tensor<T, SA, Backend>(reuse(b).buffer(), {}, a.shape()));
}

/// Tensors of different element types or backends.
template <class TA, class SA, class BA, class TB, class SB, class BB>
Tensor<TA, SA, BA> add(const Tensor<TA, SA, BA>&, const Tensor<TB, SB, BB>&) {
  static_assert(detail::alike<Tensor<TA, SA, BA>, Tensor<TB, SB, BB>>,
                "llm::add(a, b), a + b: both tensors must have the same element type and backend");
  return {};
}

template <class TA, class SA, class BA, class TB, class SB, class BB>
Tensor<TA, SA, BA> operator+(const Tensor<TA, SA, BA>& a, const Tensor<TB, SB, BB>& b) {
  return add(a, b);
}
template <class TA, class SA, class BA, class TB, class SB, class BB>
Tensor<TA, SA, BA> operator+(const Tensor<TA, SA, BA>& a, Tensor<TB, SB, BB>&& b) {
  return add(a, std::move(b));
}
/// A tensor and a number.
template <class T, class S, class Backend, class Number>
requires(std::is_arithmetic_v<Number>) Tensor<T, S, Backend>
operator+(const Tensor<T, S, Backend>&, const Number&) {
  static_assert(detail::alike<Tensor<T, S, Backend>, Number>,
                "llm::add(a, b), a + b: b must be a tensor (hint: Tensor::full(a.shape(), value) makes one of a number)");
  return {};
}

}  // namespace llm
