// Output head and cross-entropy with a stored (possibly quantised) head: evaluation only, nothing is recorded.
#pragma once

#include <algorithm>

#include <llm/ops/cross_entropy.hpp>
#include <llm/tensor/stored_matrix.hpp>

namespace llm {

/// The mean cross-entropy of linear(x, weight) against targets, as llm::head_loss of a tensor gives it: x [..., D], weight [V, D] in any
/// format, targets [...] -> []. At most options.chunk_bytes of logits exist at a time.
template <class Index, class SX, std::int64_t V, std::int64_t D, class ST, class Backend>
Tensor<float, Shape<>, Backend> head_loss(const Tensor<float, SX, Backend>& x, const StoredMatrix<V, D, Backend>& weight,
                                          const Tensor<Index, ST, Backend>& targets, const LossOptions& options = {}) {
  static_assert(detail::has_rank<ST::rank + 1, SX::rank>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): the targets must have one axis less than x");
  static_assert(detail::same_extent<detail::last_extent<SX>, D>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): the last extent of x must equal the weight's columns");
  static_assert(detail::is_token_id<Index>,
                "llm::head_loss(x [..., D], weight [V, D], targets [...]): targets must be int32 or int64, they come last");
  constexpr const char* name = "llm::head_loss(x [..., D], weight [V, D], targets [...])";
  const std::int64_t rows = detail::rows(x.shape());
  detail::require_filled(name, weight);
  detail::require_equal(name, "rows of x", rows, "the number of targets", targets.numel());
  detail::require_equal(name, "D of x", detail::last(x.shape()), "D of the weight", D);
  const double scale = detail::loss_scale(options, detail::count_targets<Backend>(name, targets.data(), rows, V, options.ignore_index));
  const std::int64_t fit = options.chunk_bytes / (V * static_cast<std::int64_t>(sizeof(float)));
  const std::int64_t chunk = (std::clamp)(fit, std::int64_t{1}, (std::max)(rows, std::int64_t{1}));
  using Numbers = Tensor<float, Shape<dyn>, Backend>;
  auto losses = Numbers::empty({rows}), lse = Numbers::empty({rows}), logits = Numbers::empty({chunk * V});
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const std::int64_t n = (std::min)(chunk, rows - first);
    Backend::template linear_forward_stored<float>(x.data() + first * D, weight.format(), weight.data(), nullptr, logits.data(), n, V, D);
    Backend::template cross_entropy_forward<float>(logits.data(), targets.data() + first, losses.data() + first, lse.data() + first, n, V,
                                                   options.ignore_index);
  }
  return Tensor<float, Shape<>, Backend>::full({}, Backend::template sum<float>(losses.data(), rows) * scale);
}

}  // namespace llm
