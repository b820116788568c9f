// LayerNorm over the last axis.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Backend>
struct LayerNormOp {
  Saved<T> x, gain;
  Saved<compute_t<T>> mean, inverse_std;
  Grad<T, Backend> d_x, d_gain, d_bias, d_y;
  std::int64_t rows, columns;

  void backward() {
    const auto dx = d_x.same(d_gain) || d_x.same(d_bias) ? d_x.write_summed() : d_x.write_over(d_y);
    auto dg = d_gain.write_wide();
    auto db = d_bias.write_wide();
    if (dg.add != db.add) {  // the kernel takes one flag for both
      GradTarget<compute_t<T>>& fresh = dg.add ? db : dg;
      Backend::template fill<compute_t<T>>(fresh.data, columns, 0.0);
      fresh.add = true;
    }
    Backend::template layer_norm_backward<T>(d_y.read(), x.data(), gain.data(), mean.data(), inverse_std.data(), dx.data, dg.data, db.data,
                                             rows, columns, dx.add, dg.add);
  }
};

}  // namespace detail

/// y = gain * (x - mean) / sqrt(var + eps) + bias over the last axis (biased variance). x [..., D], gain [D], bias [D] -> [..., D].
/// Saves x, the gain and two statistics a row. Source: arXiv:1607.06450.
template <class T, class S, class SG, class SB, class Backend>
Tensor<T, S, Backend> layer_norm(const Tensor<T, S, Backend>& x, const Tensor<T, SG, Backend>& gain, const Tensor<T, SB, Backend>& bias,
                                 double eps) {
  static_assert(detail::same_extent<detail::last_extent<S>, detail::last_extent<SG>>,
                "llm::layer_norm(x [..., D], gain [D], bias [D]): the gain must be as long as the last extent of x");
  static_assert(detail::same_extent<detail::last_extent<S>, detail::last_extent<SB>>,
                "llm::layer_norm(x [..., D], gain [D], bias [D]): the bias must be as long as the last extent of x");
  const std::int64_t rows = detail::rows(x.shape()), columns = detail::last(x.shape());
  detail::require_equal("llm::layer_norm(x [..., D], gain [D], bias [D])", "D of x", columns, "the gain", gain.numel());
  detail::require_equal("llm::layer_norm(x [..., D], gain [D], bias [D])", "D of x", columns, "the bias", bias.numel());
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  Tape* const tape = recording(x, gain, bias);
  Tensor<compute_t<T>, Shape<dyn>, Backend> mean, inverse_std;
  if (tape) mean = decltype(mean)::empty({rows}), inverse_std = decltype(mean)::empty({rows});
  Backend::template layer_norm_forward<T>(x.data(), gain.data(), bias.data(), y.data(), mean.data(), inverse_std.data(), rows, columns,
                                          eps);
  if (tape) {
    const auto d_y = output_gradient(y);
    using G = Grad<T, Backend>;
    tape->record(y, detail::LayerNormOp<T, Backend>{Saved<T>(x), Saved<T>(gain), Saved<compute_t<T>>(mean),
                                                    Saved<compute_t<T>>(inverse_std), G(x), G(gain), G(bias), d_y, rows, columns});
  }
  return y;
}

}  // namespace llm
