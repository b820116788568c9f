// Grouped-query attention: tiles of 64 queries x 64 keys with an online softmax. Memory grows with T, not T^2.
// Sources: arXiv:2205.14135 (tiling), arXiv:2305.13245 (groups).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention_decode.hpp>
#include <llm/backend/cpu/attention_tile.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// All operands of one call; lse may be null.
template <class T, class KV>
struct AttentionCall {
  const AttentionArgs& a;
  const T* q;
  const KV *k, *v;
  T* y;
  float* lse;
};

/// A block of queries of all heads that read one KV head, against the keys that they see. A vector holds one score of many queries, so
/// that no sum and no maximum goes across a vector; queries are transposed once, keys and values are read as they are.
template <class Kernels, class T, class KV>
class ForwardTask {
 public:
  ForwardTask(const AttentionCall<T, KV>& call, std::int64_t b, std::int64_t kv_head, std::int64_t first)
      : call_(call),
        a_(call.a),
        b_(b),
        first_(first),
        rows_((std::min)(tile_size, a_.T - first)),
        group_(a_.H / a_.K),
        first_head_(kv_head * group_),
        wide_(padded_width(a_.E)),
        in_place_(in_whole_vectors<T>(a_.E)),
        scale_(static_cast<float>(a_.scale)) {
    WorkspaceCutter cut(tile_size * (2 * wide_ + tile_size + group_ * (wide_ + 2)) + tile_size +
                        (in_place_ ? 0 : group_ * tile_size * wide_));
    keys_ = cut(tile_size * wide_);
    values_ = cut(tile_size * wide_);
    scores_ = cut(tile_size * tile_size);
    queries_ = cut(group_ * tile_size * wide_);
    largest_ = cut(group_ * tile_size);
    total_ = cut(group_ * tile_size);
    correction_ = cut(tile_size);
    sums_ = in_place_ ? nullptr : cut(group_ * tile_size * wide_);
  }

  void run() {
    start();
    const std::int64_t seen_from = (std::max)(std::int64_t{0}, reference::visible_keys(a_, b_, first_).begin);
    const std::int64_t begin = seen_from - seen_from % tile_size;  // tiles of keys stand where they do for any other block of queries
    const std::int64_t end = reference::visible_keys(a_, b_, first_ + rows_ - 1).end;
    std::int64_t s = begin;
    do {  // once where nothing is seen, for zeros
      one_key_tile(s, (std::clamp)(end - s, std::int64_t{0}, tile_size), s == begin, s + tile_size >= end);
      s += tile_size;
    } while (s < end);
    finish();
  }

 private:
  std::int64_t query_at(std::int64_t g) const { return reference::query_offset(a_, b_, first_, first_head_ + g); }

  void start() {
    for (std::int64_t g = 0; g < group_; ++g)
      Kernels::template transpose_rows<T>(call_.q + query_at(g), a_.H * a_.E, rows_, a_.E, queries_ + g * tile_size * wide_);
    std::fill(largest_, largest_ + group_ * tile_size, -std::numeric_limits<float>::infinity());
    std::fill(total_, total_ + group_ * tile_size, 0.0f);
  }

  void one_key_tile(std::int64_t s, std::int64_t cols, bool first, bool last) {
    const TileView view = tile_view(a_, b_, first_, rows_, s, cols);
    const std::int64_t at = reference::key_offset(a_, b_, s, first_head_);
    const auto keys = float_rows<Kernels>(call_.k + at, a_.kv_position_stride, cols, a_.E, keys_);
    const auto values = float_rows<Kernels>(call_.v + at, a_.kv_position_stride, cols, a_.E, values_);
    for (std::int64_t g = 0; g < group_; ++g) {
      const auto running = running_softmax(g);
      Kernels::score_tile(view, a_.E, keys.data, keys.stride, queries_ + g * tile_size * wide_, &scale_, scores_);
      Kernels::softmax_tile(view, scores_, running);
      if (last) Kernels::finish_softmax(rows_, running);
      const auto gather = [&](float* out, std::int64_t stride) {
        Kernels::value_tile(view, a_.E, scores_, values.data, values.stride, out, stride, !first, correction_,
                            last ? running.total : nullptr);
      };
      if constexpr (std::is_same_v<T, float>)
        if (in_place_) {
          gather(call_.y + query_at(g), a_.H * a_.E);
          continue;
        }
      gather(sums_ + g * tile_size * wide_, wide_);
    }
  }

  RunningSoftmax running_softmax(std::int64_t g) const { return {largest_ + g * tile_size, total_ + g * tile_size, correction_}; }

  void finish() {
    for (std::int64_t g = 0; g < group_; ++g)
      for (std::int64_t r = 0; r < rows_; ++r) {
        const std::int64_t row = reference::query_row(a_, b_, first_ + r, first_head_ + g);
        if (!in_place_) Kernels::template narrow<T>(sums_ + (g * tile_size + r) * wide_, 1.0f, call_.y + row * a_.E, a_.E, false);
        if (call_.lse != nullptr) call_.lse[row] = largest_[g * tile_size + r];
      }
  }

  const AttentionCall<T, KV>& call_;
  const AttentionArgs& a_;
  std::int64_t b_, first_, rows_, group_, first_head_, wide_;
  bool in_place_;  // sums are gathered in y itself
  float scale_;
  float *keys_, *values_, *scores_, *queries_, *largest_, *total_, *correction_, *sums_;
};

/// Which block of queries comes i-th. Later blocks see more keys: in this order any run of tasks is about as much work as another.
inline std::int64_t balanced(std::int64_t i, std::int64_t blocks) { return i % 2 == 0 ? i / 2 : blocks - 1 - i / 2; }

template <class T, class KV>
void attention_forward(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, compute_t<T>* lse) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<KV, double>) {
    reference::attention_forward(a, q, k, v, y, lse);
  } else {
    if (a.K == 0) return;  // no heads
    if (a.T <= few_queries) return attention_decode(a, q, k, v, y, lse);
    const AttentionCall<T, KV> call{a, q, k, v, y, lse};
    const std::int64_t blocks = ceil_div(a.T, tile_size), heads = a.B * a.K, group = a.H / a.K;
    parallel_for(heads * blocks, group * (std::min)(a.T, tile_size) * a.S * a.E * 2 / products_per_work, [&](std::int64_t task) {
      const std::int64_t block = balanced(task % blocks, blocks), b = task / blocks / a.K, kv_head = task / blocks % a.K;
      with_vectors([&](auto kernels) { ForwardTask<decltype(kernels), T, KV>(call, b, kv_head, block * tile_size).run(); });
    });
  }
}

}  // namespace llm::cpu
