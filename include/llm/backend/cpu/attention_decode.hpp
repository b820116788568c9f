// Attention of one new token a row: the cache is read once, in fixed splits of keys that threads share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Keys of one split.
inline constexpr std::int64_t split = 256;

/// What the splits of one query head found: for each split its largest score, its sum of exponentials, and E sums of values.
struct SplitResults {
  float* data;
  std::int64_t splits, E;

  float* of(std::int64_t query, std::int64_t i) const { return data + (query * splits + i) * (E + 2); }
};

/// One split of keys for all query heads of one KV head.
template <class Kernels, class KV>
void attend_split(const AttentionArgs& a, const float* q, const KV* k, const KV* v, const SplitResults& results, std::int64_t b,
                  std::int64_t kv_head, std::int64_t i) {
  using Weights = typename Kernels::template Weights<KV>;
  const auto visible = reference::visible_keys(a, b, 0);
  const std::int64_t begin = (std::max)(visible.begin, i * split), n = (std::min)(visible.end, (i + 1) * split) - begin;
  const std::int64_t group = a.H / a.K, first = b * a.H + kv_head * group;
  for (std::int64_t g = 0; g < group; ++g) {
    float* result = results.of(first + g, i);
    result[0] = -std::numeric_limits<float>::infinity();
    std::fill(result + 1, result + a.E + 2, 0.0f);
  }
  if (n <= 0) return;
  const std::int64_t base = reference::key_offset(a, b, begin, kv_head * group);
  float* scores = workspace<float>(Slot::scores, group * split);
  Kernels::dot_rows(group, n, a.E, q + first * a.E, a.E, Weights{k + base, a.kv_position_stride}, static_cast<const float*>(nullptr),
                    scores, split);
  for (std::int64_t g = 0; g < group; ++g) {
    float *result = results.of(first + g, i), *row = scores + g * split;
    Kernels::softmax_row(row, n, static_cast<float>(a.scale), result[0], result[1]);
    Kernels::template weighted_sum<KV>(row, n, v + base, a.kv_position_stride, result + 2, a.E);
  }
}

/// Adds up the splits of one query head in their order.
template <class Kernels, class T>
void combine_splits(const SplitResults& results, std::int64_t query, T* y, float* lse) {
  float* sums = workspace<float>(Slot::rows, results.E);
  std::fill(sums, sums + results.E, 0.0f);
  float largest = -std::numeric_limits<float>::infinity(), total = 0;
  for (std::int64_t i = 0; i < results.splits; ++i) largest = (std::max)(largest, results.of(query, i)[0]);
  for (std::int64_t i = 0; i < results.splits; ++i) {
    const float* part = results.of(query, i);
    if (part[1] == 0.0f) continue;  // a split with no key to see
    const float factor = std::exp(part[0] - largest);
    total += factor * part[1];
    Kernels::template narrow<float>(part + 2, factor, sums, results.E, true);
  }
  Kernels::template narrow<T>(sums, total == 0.0f ? 0.0f : 1.0f / total, y + query * results.E, results.E, false);
  if (lse != nullptr) lse[query] = largest + std::log(total);
}

/// attention_forward for T = 1.
template <class T, class KV>
void attention_decode(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, float* lse) {
  std::int64_t longest = a.S;
  if (a.kv_lengths != nullptr) longest = a.B == 0 ? 0 : *std::max_element(a.kv_lengths, a.kv_lengths + a.B);
  const std::int64_t splits = (std::max)(std::int64_t{1}, (longest + split - 1) / split);
  const SplitResults results{workspace<float>(Slot::shared, a.B * a.H * splits * (a.E + 2)), splits, a.E};
  const float* queries = widened(dense(q, a.E), a.B * a.H, a.E, Slot::tile).data;
  parallel_for(a.B * a.K * splits, a.H / a.K * (std::min)(longest, split) * a.E / 4, [&](std::int64_t task) {
    const std::int64_t i = task % splits, kv_head = task / splits % a.K, b = task / splits / a.K;
    with_vectors([&](auto kernels) { attend_split<decltype(kernels)>(a, queries, k, v, results, b, kv_head, i); });
  });
  parallel_for(a.B * a.H, splits * a.E * 2,
               [&](std::int64_t query) { with_vectors([&](auto kernels) { combine_splits<decltype(kernels)>(results, query, y, lse); }); });
}

}  // namespace llm::cpu
