// Attention of a few new tokens a row, each by itself: a query has the same bits alone and among others. Keys are read in fixed splits
// that threads share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention_view.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/few_rows.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Keys of one split.
inline constexpr std::int64_t split = 256;

/// The most new tokens of a row that come this way. As many as products of few rows take, so that a pass over that many tokens has the
/// bits of as many passes over one.
inline constexpr std::int64_t few_queries = few_rows;

/// How the work is cut, which does not matter for results: `heads` KV heads to a task, which go through `chunk` keys at a time together.
/// A cache that comes from memory is read from one end to the other, all heads of a position at once and the next chunk on its way; one
/// that lies in the processor's caches is read head by head.
struct DecodePlan {
  std::int64_t heads = 1, chunk = split;
  bool fetch = false;

  DecodePlan(const AttentionArgs& a, std::int64_t splits, std::int64_t element_bytes) {
    constexpr std::int64_t cached_bytes = 24 << 20, enough_tasks = 8, fetched_keys = 16;
    if (2 * a.B * splits * split * a.K * a.E * element_bytes < cached_bytes || a.kv_head_stride != a.E) return;
    fetch = true;
    chunk = fetched_keys;
    if (a.B * splits >= enough_tasks) heads = a.K;
  }
};

/// What the splits of one query head found: for each split E sums of values, its largest score, its sum of exponentials.
struct SplitResults {
  float* data;
  std::int64_t splits, E;

  float* sums(std::int64_t query, std::int64_t i) const { return data + (query * splits + i) * (E + 2); }
  float& largest(std::int64_t query, std::int64_t i) const { return sums(query, i)[E]; }
  float& total(std::int64_t query, std::int64_t i) const { return sums(query, i)[E + 1]; }
};

/// One split of the keys of one row of the batch, for the query heads of some of its KV heads at time t.
template <class Kernels, class KV>
class SplitTask {
 public:
  SplitTask(const AttentionArgs& a, const DecodePlan& plan, const float* q, const SplitResults& results, std::int64_t b, std::int64_t t,
            std::int64_t i, std::int64_t first_kv)
      : a_(a), plan_(plan), results_(results), b_(b), t_(t), i_(i), first_kv_(first_kv), group_(a.H / a.K), q_(q) {
    const auto visible = reference::visible_keys(a, b, t);
    begin_ = (std::max)(visible.begin, i * split);
    keys_ = (std::max)(std::int64_t{0}, (std::min)(visible.end, (i + 1) * split) - begin_);
    scores_ = workspace<float>(Slot::scores, plan.heads * group_ * split);
  }

  void run(const KV* k, const KV* v) {
    for_chunks(k, [&](std::int64_t kv_head, std::int64_t s, std::int64_t n, const KV* keys) {
      Kernels::dot_rows(group_, n, a_.E, q_ + query(kv_head) * a_.E, a_.E,
                        typename Kernels::template Weights<KV>{keys, a_.kv_position_stride}, static_cast<const float*>(nullptr),
                        scores(kv_head) + s, split);
    });
    for (std::int64_t kv_head = first_kv_; kv_head < first_kv_ + plan_.heads; ++kv_head)
      for (std::int64_t g = 0; g < group_; ++g) {
        const std::int64_t row = query(kv_head) + g;
        std::fill(results_.sums(row, i_), results_.sums(row, i_) + a_.E, 0.0f);
        Kernels::softmax_row(scores(kv_head) + g * split, keys_, static_cast<float>(a_.scale), results_.largest(row, i_),
                             results_.total(row, i_));
      }
    for_chunks(v, [&](std::int64_t kv_head, std::int64_t s, std::int64_t n, const KV* values) {
      for (std::int64_t g = 0; g < group_; ++g)
        Kernels::template add_weighted_sum<KV>(scores(kv_head) + g * split + s, n, values, a_.kv_position_stride,
                                               results_.sums(query(kv_head) + g, i_), a_.E);
    });
  }

 private:
  std::int64_t query(std::int64_t kv_head) const { return (b_ * a_.T + t_) * a_.H + kv_head * group_; }
  float* scores(std::int64_t kv_head) const { return scores_ + (kv_head - first_kv_) * group_ * split; }

  /// f(KV head, first key within the split, number of keys, their first row) over all chunks, each for all heads.
  template <class F>
  void for_chunks(const KV* rows, const F& f) {
    const std::int64_t step = a_.kv_position_stride;
    for (std::int64_t s = 0; s < keys_; s += plan_.chunk) {
      const std::int64_t n = (std::min)(plan_.chunk, keys_ - s);
      const KV* first = rows + reference::key_offset(a_, b_, begin_ + s, first_kv_ * group_);
      if (plan_.fetch) Kernels::template prefetch_rows<KV>(first, plan_.chunk, step, n, plan_.heads * a_.E);
      for (std::int64_t h = 0; h < plan_.heads; ++h) f(first_kv_ + h, s, n, first + h * a_.kv_head_stride);
    }
  }

  const AttentionArgs& a_;
  const DecodePlan& plan_;
  const SplitResults& results_;
  std::int64_t b_, t_, i_, first_kv_, group_, begin_, keys_;
  const float* q_;
  float* scores_;
};

/// Adds up the splits of one query head in their order.
template <class Kernels, class T>
void combine_splits(const SplitResults& results, std::int64_t query, std::int64_t E, T* y, float* lse) {
  float* sums = workspace<float>(Slot::rows, E);
  std::fill(sums, sums + E, 0.0f);
  float largest = -std::numeric_limits<float>::infinity(), total = 0;
  for (std::int64_t i = 0; i < results.splits; ++i) largest = (std::max)(largest, results.largest(query, i));
  for (std::int64_t i = 0; i < results.splits; ++i) {
    if (results.total(query, i) == 0.0f) continue;  // a split with no key to see, or none that weighs anything
    const float factor = std::exp(results.largest(query, i) - largest);
    total += factor * results.total(query, i);
    Kernels::template narrow<float>(results.sums(query, i), factor, sums, E, true);
  }
  if (total == 0.0f && largest == least_score) total = std::numeric_limits<float>::quiet_NaN();  // all scores are -inf
  Kernels::template narrow<T>(sums, total == 0.0f ? 0.0f : 1.0f / total, y + query * E, E, false);
  if (lse != nullptr) lse[query] = largest + std::log(total);
}

/// attention_forward for T <= few_queries. A task is a split's keys for all times: from the second time on it finds them in the processor's
/// caches.
template <class T, class KV>
void attention_decode(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, float* lse) {
  std::int64_t longest = a.S;
  if (a.kv_lengths != nullptr) longest = a.B == 0 ? 0 : *std::max_element(a.kv_lengths, a.kv_lengths + a.B);
  const std::int64_t splits = (std::max)(std::int64_t{1}, ceil_div(longest, split)), rows = a.B * a.T * a.H;
  const DecodePlan plan(a, splits, sizeof(KV));
  const SplitResults results{workspace<float>(Slot::shared, rows * splits * (a.E + 2)), splits, a.E};
  const float* queries = widened(dense(q, a.E), rows, a.E, Slot::tile).data;
  const std::int64_t parts = a.K / plan.heads;
  parallel_for(a.B * parts * splits, a.H / parts * a.T * (std::min)(longest, split) * a.E / 4, [&](std::int64_t task) {
    const std::int64_t i = task % splits, kv_head = task / splits % parts * plan.heads, b = task / splits / parts;
    for (std::int64_t t = 0; t < a.T; ++t)
      with_vectors([&](auto kernels) { SplitTask<decltype(kernels), KV>(a, plan, queries, results, b, t, i, kv_head).run(k, v); });
  });
  parallel_for(rows, splits * a.E * 2, [&](std::int64_t query) {
    with_vectors([&](auto kernels) { combine_splits<decltype(kernels)>(results, query, a.E, y, lse); });
  });
}

}  // namespace llm::cpu
