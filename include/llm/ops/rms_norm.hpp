// RMSNorm over the last axis.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/backend/concept.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct RmsNormOp {
  Saved<T> x, gain;
  Saved<compute_t<T>> inverse_rms;
  Grad<T, Backend> d_x, d_gain, d_y;
  std::int64_t rows, columns;

  void backward() {
    const auto dx = d_x.same(d_gain) ? d_x.write_summed() : d_x.write_over(d_y);
    const auto dg = d_gain.write_wide();
    Backend::template rms_norm_backward<T>(d_y.read(), x.data(), gain.data(), inverse_rms.data(), dx.data, dg.data, rows, columns, dx.add,
                                           dg.add);
  }
};

}  // namespace detail

/// y = gain * x / sqrt(mean(x^2) + eps) over the last axis. x [..., D], gain [D] -> [..., D]. Statistics in f32 (f64 for f64).
/// `rounding` matters for bf16 only. Saves x, the gain and one statistic a row. Source: arXiv:1910.07467.
template <class T, class S, class SG, class Backend>
Tensor<T, S, Backend> rms_norm(const Tensor<T, S, Backend>& x, const Tensor<T, SG, Backend>& gain, double eps,
                               Rounding rounding = Rounding::round_then_gain) {
  static_assert(detail::same_extent<detail::last_extent<S>, detail::last_extent<SG>>,
                "llm::rms_norm(x [..., D], gain [D]): the gain must be as long as the last extent of x");
  const std::int64_t rows = detail::rows(x.shape()), columns = detail::last(x.shape());
  detail::require_equal("llm::rms_norm(x [..., D], gain [D])", "D of x", columns, "the gain", gain.numel());
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  Tape* const tape = recording(x, gain);
  Tensor<compute_t<T>, Shape<dyn>, Backend> inverse_rms;
  if (tape) inverse_rms = decltype(inverse_rms)::empty({rows});
  Backend::template rms_norm_forward<T>(x.data(), gain.data(), y.data(), inverse_rms.data(), rows, columns, eps, rounding);
  if (tape) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    tape->record(
        y, detail::RmsNormOp<T, Backend>{Saved<T>(x), Saved<T>(gain), Saved<compute_t<T>>(inverse_rms), G(x), G(gain), d_y, rows, columns});
  }
  return y;
}

/// Tensors of different element types or backends.
template <class TX, class SX, class BX, class TG, class SG, class BG>
Tensor<TX, SX, BX> rms_norm(const Tensor<TX, SX, BX>&, const Tensor<TG, SG, BG>&, double, Rounding = Rounding::round_then_gain) {
  static_assert(detail::alike<Tensor<TX, SX, BX>, Tensor<TG, SG, BG>>,
                "llm::rms_norm(x [..., D], gain [D]): x and the gain must have the same element type and backend");
  return {};
}

}  // namespace llm
