// Cross-entropy of logits against target ids, alone and fused with the output head in chunks of rows.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

struct LossOptions {
  std::int64_t ignore_index = -100;  // targets with this value count for nothing
  /// What the sum over targets is divided by; 0: the number of targets that count. Give the total over all batches of a step when
  /// gradients are accumulated over batches with different numbers of targets.
  std::int64_t denominator = 0;
  std::int64_t chunk_bytes = 64 * 1024 * 1024;  // logits computed at a time by head_loss
};

namespace detail {

/// The number of targets that count. Throws ValueError for one outside [0, V) that is not ignore_index.
template <class Backend, class Index>
std::int64_t count_targets(const char* function, const Index* targets, std::int64_t n, std::int64_t v, std::int64_t ignore) {
  const std::int64_t count = Backend::count_targets(targets, n, v, ignore);
  if (count >= 0) return count;
  Index id;
  Backend::memory::copy_to_host(&id, targets + (-1 - count), sizeof(Index));
  throw ValueError(concat(function, ": target ", static_cast<std::int64_t>(id), " at position ", -1 - count, " is neither in [0, ", v,
                          ") nor ignore_index ", ignore));
}

/// 1 / denominator of a mean loss; 0 when nothing counts, so that loss and gradients are exactly 0 and not NaN.
inline double loss_scale(const LossOptions& options, std::int64_t counted) {
  if (options.denominator < 0) throw ValueError(concat("llm::LossOptions: denominator ", options.denominator, " is negative"));
  const std::int64_t by = options.denominator > 0 ? options.denominator : counted;
  return by > 0 ? 1.0 / static_cast<double>(by) : 0.0;
}

template <class T, class Index, class Backend>
struct CrossEntropyOp {
  Saved<T> logits;
  Saved<Index> targets;
  Saved<compute_t<T>> lse;
  Grad<T, Backend> d_logits;
  Grad<compute_t<T>, Backend> d_loss;
  std::int64_t rows, V, ignore;
  double scale;

  void backward() {
    compute_t<T> upstream;
    Backend::memory::copy_to_host(&upstream, d_loss.read(), sizeof(upstream));
    const double factor = scale * static_cast<double>(upstream);
    const auto dl = d_logits.write();
    if (!dl.add) {
      Backend::template cross_entropy_backward<T>(logits.data(), targets.data(), lse.data(), factor, dl.data, rows, V, ignore);
      return;
    }
    auto own = Tensor<T, Shape<dyn>, Backend>::empty({rows * V});
    Backend::template cross_entropy_backward<T>(logits.data(), targets.data(), lse.data(), factor, own.data(), rows, V, ignore);
    Backend::template accumulate<T>(dl.data, own.data(), rows * V);
  }
};

}  // namespace detail

/// Mean over the targets that count of -log softmax(logits)[target]. logits [..., V], targets [...] aligned -> [].
/// Targets equal to ignore_index count for nothing; when none counts the loss is 0. Throws llm::ValueError for other targets outside [0,
/// V). Saves the logits and one number a row. Log-sum-exp in f32 (f64 for f64).
template <class T, class Index, class SL, class ST, class Backend>
Tensor<compute_t<T>, Shape<>, Backend> cross_entropy(const Tensor<T, SL, Backend>& logits, const Tensor<Index, ST, Backend>& targets,
                                                     const LossOptions& options = {}) {
  static_assert(detail::has_rank<ST::rank + 1, SL::rank>,
                "llm::cross_entropy(logits [..., V], targets [...]): the targets must have one axis less than the logits");
  constexpr const char* name = "llm::cross_entropy(logits [..., V], targets [...])";
  const std::int64_t rows = detail::rows(logits.shape()), v = detail::last(logits.shape());
  detail::require_equal(name, "rows of logits", rows, "the number of targets", targets.numel());
  const double scale = detail::loss_scale(options, detail::count_targets<Backend>(name, targets.data(), rows, v, options.ignore_index));
  using Stat = Tensor<compute_t<T>, Shape<dyn>, Backend>;
  auto losses = Stat::empty({rows}), lse = Stat::empty({rows});
  Backend::template cross_entropy_forward<T>(logits.data(), targets.data(), losses.data(), lse.data(), rows, v, options.ignore_index);
  const double total = Backend::template sum<compute_t<T>>(losses.data(), rows);
  auto loss = Tensor<compute_t<T>, Shape<>, Backend>::full({}, total * scale);
  if (Tape* const tape = recording(logits)) {
    const auto d_loss = output_gradient(loss);
    tape->record(loss, detail::CrossEntropyOp<T, Index, Backend>{Saved<T>(logits), Saved<Index>(targets), Saved<compute_t<T>>(lse),
                                                                 Grad<T, Backend>(logits), d_loss, rows, v, options.ignore_index, scale});
  }
  return loss;
}

/// Targets that are no token ids.
template <class T, class Index, class SL, class ST, class Backend>
requires(!detail::is_token_id<Index>) Tensor<compute_t<T>, Shape<>, Backend> cross_entropy(const Tensor<T, SL, Backend>&,
                                                                                           const Tensor<Index, ST, Backend>&,
                                                                                           const LossOptions& = {}) {
  static_assert(detail::is_token_id<Index>,
                "llm::cross_entropy(logits [..., V], targets [...]): targets must be int32 or int64, the logits come first");
  return {};
}

}  // namespace llm
