// Output head and cross-entropy together, in chunks of rows, so that memory does not grow with batch * time * vocabulary.
#pragma once

#include <algorithm>

#include <llm/ops/cross_entropy.hpp>

namespace llm {

namespace detail {

template <class T, class Index, class Backend>
struct HeadLossOp {
  Saved<T> x, weight;
  Saved<T> logits;  // of all rows when they fit one chunk, else empty: computed again chunk by chunk
  Saved<Index> targets;
  Saved<compute_t<T>> lse;
  Grad<T, Backend> d_x, d_weight;
  Grad<compute_t<T>, Backend> d_loss;
  std::int64_t rows, V, D, chunk, ignore;
  double scale;

  void backward() {
    compute_t<T> upstream;
    Backend::memory::copy_to_host(&upstream, d_loss.read(), sizeof(upstream));
    const double factor = scale * static_cast<double>(upstream);
    const auto dw = d_weight.write_wide();  // before dx: x and the weight may be one tensor, whose dw is written first
    const auto dx = d_x.write();
    Tensor<T, Shape<dyn>, Backend> again;
    if (!logits.data()) again = decltype(again)::empty({chunk * V});
    for (std::int64_t first = 0; first < rows || first == 0; first += chunk) {
      const std::int64_t n = (std::min)(chunk, rows - first);
      const T* const from = x.data() + first * D;
      T* const part = logits.data() ? logits.mutable_data() : again.data();  // [n, V]; becomes its own gradient
      if (!logits.data()) Backend::template linear_forward<T>(from, weight.data(), nullptr, part, n, V, D);
      Backend::template cross_entropy_backward<T>(part, targets.data() + first, lse.data() + first, factor, part, n, V, ignore);
      Backend::template linear_backward_weight<T>(part, from, dw.data, n, V, D, dw.add || first > 0);
      Backend::template linear_backward_input<T>(part, weight.data(), dx.data + first * D, n, V, D, dx.add);
    }
  }
};

}  // namespace detail

/// cross_entropy(linear(x, weight), targets) without the whole logits: x [..., D], weight [V, D], targets [...] -> [].
/// At most options.chunk_bytes of logits exist at a time; when all of them fit they are kept for backward, else each chunk is
/// computed again there. Saves x, the weight and one number a row.
template <class T, class Index, class SX, class SW, class ST, class Backend>
Tensor<compute_t<T>, Shape<>, Backend> head_loss(const Tensor<T, SX, Backend>& x, const Tensor<T, SW, Backend>& weight,
                                                 const Tensor<Index, ST, Backend>& targets, const LossOptions& options = {}) {
  static_assert(detail::has_rank<ST::rank + 1, SX::rank>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): the targets must have one axis less than x");
  static_assert(detail::same_extent<detail::last_extent<SX>, detail::axis<SW, 1>>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): the last extent of x must equal the weight's columns");
  constexpr const char* name = "llm::head_loss(x [..., D], weight [V, D], targets [...])";
  const std::int64_t rows = detail::rows(x.shape()), d = detail::last(x.shape()), v = weight.extent(0);
  detail::require_equal(name, "rows of x", rows, "the number of targets", targets.numel());
  detail::require_equal(name, "D of x", d, "D of the weight", weight.extent(1));
  const double scale = detail::loss_scale(options, detail::count_targets<Backend>(name, targets.data(), rows, v, options.ignore_index));
  const std::int64_t fit = options.chunk_bytes / ((std::max)(v, std::int64_t{1}) * static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t chunk = (std::clamp)(fit, std::int64_t{1}, (std::max)(rows, std::int64_t{1}));
  using Stat = Tensor<compute_t<T>, Shape<dyn>, Backend>;
  auto losses = Stat::empty({rows}), lse = Stat::empty({rows});
  auto logits = Tensor<T, Shape<dyn>, Backend>::empty({chunk * v});
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const std::int64_t n = (std::min)(chunk, rows - first);
    Backend::template linear_forward<T>(x.data() + first * d, weight.data(), nullptr, logits.data(), n, v, d);
    Backend::template cross_entropy_forward<T>(logits.data(), targets.data() + first, losses.data() + first, lse.data() + first, n, v,
                                               options.ignore_index);
  }
  const double total = Backend::template sum<compute_t<T>>(losses.data(), rows);
  auto loss = Tensor<compute_t<T>, Shape<>, Backend>::full({}, total * scale);
  if (Tape* const tape = recording(x, weight)) {
    const auto d_loss = output_gradient(loss);
    const Saved<T> kept = chunk >= rows ? Saved<T>(logits) : Saved<T>();
    tape->record(loss, detail::HeadLossOp<T, Index, Backend>{Saved<T>(x), Saved<T>(weight), kept, Saved<Index>(targets),
                                                             Saved<compute_t<T>>(lse), Grad<T, Backend>(x), Grad<T, Backend>(weight),
                                                             d_loss, rows, v, d, chunk, options.ignore_index, scale});
  }
  return loss;
}

/// Targets that are no token ids.
template <class T, class Index, class SX, class SW, class ST, class Backend>
requires(!detail::is_token_id<Index>) Tensor<compute_t<T>, Shape<>, Backend> head_loss(const Tensor<T, SX, Backend>&,
                                                                                       const Tensor<T, SW, Backend>&,
                                                                                       const Tensor<Index, ST, Backend>&,
                                                                                       const LossOptions& = {}) {
  static_assert(detail::is_token_id<Index>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): targets must be int32 or int64, they come last");
  return {};
}

}  // namespace llm
