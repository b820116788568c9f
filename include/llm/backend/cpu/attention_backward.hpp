// The gradient of grouped-query attention: weights are computed again, tile by tile, from the saved log-sum-exp. arXiv:2205.14135.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention_tile.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// All operands of one call; gradients are written with `add` as named. The tiles of keys of one KV head are dealt to `parts` tasks, so
/// that threads find work where there are few heads. With more than one part, each sums the gradients of queries for itself, at
/// part_dq[part][row of the batch, KV head][head of its group][time][E].
template <class T>
struct AttentionGradient {
  const AttentionArgs& a;
  const T *q, *k, *v, *y, *dy;
  const float* lse;
  T *dq, *dk, *dv;
  bool add_dq, add_dk, add_dv;
  std::int64_t parts = 1;
  float* part_dq = nullptr;

  std::int64_t group() const { return a.H / a.K; }
  float* queries_of(std::int64_t part, std::int64_t b, std::int64_t kv_head) const {
    return part_dq + ((part * a.B + b) * a.K + kv_head) * group() * a.T * padded_width(a.E);
  }
};

/// How many parts: from the shape alone, since each part is added up by itself. From four on, each has an early and a late tile of keys,
/// which are seen by many queries and by few.
inline std::int64_t gradient_parts(const AttentionArgs& a) {
  constexpr std::int64_t enough_tasks = 8;
  const std::int64_t key_tiles = ceil_div(a.S, tile_size);
  std::int64_t parts = 1;
  while (a.B * a.K * parts < enough_tasks && (parts == 1 ? 2 : 4 * parts) <= key_tiles) parts *= 2;
  return parts;
}

/// One part of the gradients that belong to one KV head of one row of the batch: of its keys and values, and of the queries of its group.
template <class Kernels, class T>
class GradientTask {
 public:
  GradientTask(const AttentionGradient<T>& g, std::int64_t b, std::int64_t kv_head, std::int64_t part)
      : g_(g),
        a_(g.a),
        b_(b),
        part_(part),
        group_(a_.H / a_.K),
        first_head_(kv_head * group_),
        wide_(padded_width(a_.E)),
        keys_in_place_(in_whole_vectors<T>(a_.E)),
        in_place_(g.parts == 1 && keys_in_place_),
        scale_(static_cast<float>(a_.scale)) {
    const std::int64_t queries = group_ * a_.T, square = tile_size * tile_size, panel = tile_size * wide_;
    const bool own_sums = g.parts == 1 && !in_place_;
    WorkspaceCutter cut(2 * queries + 2 * square + 7 * panel + (own_sums ? queries * wide_ : 0));
    scores_ = cut(square);
    dweights_ = cut(square);
    keys_ = cut(panel);
    keys_transposed_ = cut(panel);
    values_transposed_ = cut(panel);
    queries_ = cut(panel);
    dy_ = cut(panel);
    dk_ = cut(panel);
    dv_ = cut(panel);
    dots_ = cut(queries);
    lse_ = cut(queries);
    dq_ = in_place_ ? nullptr : own_sums ? cut(queries * wide_) : g.queries_of(part, b, kv_head);
  }

  void run() {
    start_queries();
    const std::int64_t keys = a_.kv_lengths == nullptr ? a_.S : a_.kv_lengths[b_];
    for (std::int64_t s = 0; s < a_.S; s += tile_size)
      if (part_of(s / tile_size) == part_)
        one_key_tile(s, (std::min)(tile_size, a_.S - s), (std::clamp)(keys - s, std::int64_t{0}, tile_size));
    if (g_.parts == 1 && !in_place_)
      for_queries(
          [&](std::int64_t i, std::int64_t at) { Kernels::template narrow<T>(dq_ + i * wide_, 1.0f, g_.dq + at, a_.E, g_.add_dq); });
  }

 private:
  /// To and fro, since earlier keys are seen by more queries.
  std::int64_t part_of(std::int64_t key_tile) const {
    const std::int64_t i = key_tile % (2 * g_.parts);
    return i < g_.parts ? i : 2 * g_.parts - 1 - i;
  }

  template <class F>
  void for_queries(const F& f) {
    for (std::int64_t h = 0; h < group_; ++h)
      for (std::int64_t t = 0; t < a_.T; ++t) f(h * a_.T + t, reference::query_offset(a_, b_, t, first_head_ + h));
  }

  /// Meanwhile d_y and y are read.
  void fetch_first_tile() const {
    const std::int64_t keys = reference::key_offset(a_, b_, part_ * tile_size, first_head_), step = a_.kv_position_stride, E = a_.E;
    Kernels::template prefetch_rows<T>(g_.k + keys, 0, step, tile_size, E);
    Kernels::template prefetch_rows<T>(g_.v + keys, 0, step, tile_size, E);
    Kernels::template prefetch_rows<T>(g_.q + reference::query_offset(a_, b_, 0, first_head_), 0, a_.H * E, tile_size, E);
  }

  void start_queries() {
    fetch_first_tile();
    for (std::int64_t h = 0; h < group_; ++h) {
      const std::int64_t at = reference::query_offset(a_, b_, 0, first_head_ + h);
      Kernels::template dot_of_rows<T>(g_.dy + at, g_.y + at, a_.H * a_.E, a_.T, a_.E, dots_ + h * a_.T);
    }
    for (std::int64_t h = 0; h < group_; ++h)
      for (std::int64_t t = 0; t < a_.T; ++t) lse_[h * a_.T + t] = g_.lse[reference::query_row(a_, b_, t, first_head_ + h)];
    for_queries([&](std::int64_t i, std::int64_t at) {
      if (!in_place_)
        std::fill(dq_ + i * wide_, dq_ + (i + 1) * wide_, 0.0f);
      else if (!g_.add_dq)
        std::fill(g_.dq + at, g_.dq + at + a_.E, T(0.0f));
    });
    // Queries that see one key in all stand together.
    const auto sees_one = [&](std::int64_t t) {
      const auto seen = reference::visible_keys(a_, b_, t);
      return seen.end - seen.begin == 1;
    };
    while (alone_ < a_.T && !sees_one(alone_)) ++alone_;
    for (alone_end_ = alone_; alone_end_ < a_.T && sees_one(alone_end_);) ++alone_end_;
  }

  /// One tile of keys, of which the first `used` are seen by some query at all, against all queries that see some of them.
  void one_key_tile(std::int64_t s, std::int64_t cols, std::int64_t used) {
    used = (std::min)(used, cols);
    const std::int64_t at = reference::key_offset(a_, b_, s, first_head_);
    add_keys_ = false;
    if (used > 0) {
      Kernels::template transpose_rows<T>(g_.k + at, a_.kv_position_stride, used, a_.E, keys_transposed_);
      Kernels::template transpose_rows<T>(g_.v + at, a_.kv_position_stride, used, a_.E, values_transposed_);
      const auto keys = float_rows<Kernels>(g_.k + at, a_.kv_position_stride, used, a_.E, keys_);
      for (std::int64_t t = 0; t < a_.T; t += tile_size) {
        const TileView view = tile_view(a_, b_, t, (std::min)(tile_size, a_.T - t), s, used);
        if (view.none_seen()) continue;
        for (std::int64_t h = 0; h < group_; ++h) one_tile(view, keys, at, t, h);
      }
    }
    if (keys_in_place_ && add_keys_ && used == cols) return;
    for (std::int64_t i = add_keys_ ? used : 0; i < cols; ++i) {  // seen by no query
      std::fill(dk_ + i * wide_, dk_ + (i + 1) * wide_, 0.0f);
      std::fill(dv_ + i * wide_, dv_ + (i + 1) * wide_, 0.0f);
    }
    for (std::int64_t i = keys_in_place_ && add_keys_ ? used : 0; i < cols; ++i) {
      const std::int64_t to = at + i * a_.kv_position_stride;
      Kernels::template narrow<T>(dk_ + i * wide_, 1.0f, g_.dk + to, a_.E, g_.add_dk);
      Kernels::template narrow<T>(dv_ + i * wide_, 1.0f, g_.dv + to, a_.E, g_.add_dv);
    }
  }

  void one_tile(const TileView& view, const FloatRows& keys, std::int64_t key_at, std::int64_t t, std::int64_t h) {
    const std::int64_t at = reference::query_offset(a_, b_, t, first_head_ + h), step = a_.H * a_.E, E = a_.E, row = h * a_.T + t;
    const std::int64_t next = h + 1 < group_ ? at + E : at + tile_size * step - (group_ - 1) * E;
    const auto queries = float_rows<Kernels>(g_.q + at, step, view.rows, E, queries_);
    const auto dy = float_rows<Kernels>(g_.dy + at, step, view.rows, E, dy_);
    Kernels::template gradient_score_tile<T>(view, E, queries.data, queries.stride, keys_transposed_, &scale_, scores_, g_.q + next, step);
    Kernels::template gradient_score_tile<T>(view, E, dy.data, dy.stride, values_transposed_, nullptr, dweights_, g_.dy + next, step);
    Kernels::weights_and_gradient(view, scores_, dweights_, scale_, lse_ + row, dots_ + row, alone_ - t, alone_end_ - t);
    add_key_gradient(view, scores_, dy, dv_, g_.dv + key_at, g_.add_dv);
    add_key_gradient(view, dweights_, queries, dk_, g_.dk + key_at, g_.add_dk);
    add_keys_ = true;
    if constexpr (std::is_same_v<T, float>)
      if (in_place_) return Kernels::query_gradient_tile(view, E, dweights_, keys.data, keys.stride, g_.dq + at, step);
    Kernels::query_gradient_tile(view, E, dweights_, keys.data, keys.stride, dq_ + row * wide_, wide_);
  }

  /// What a tile adds to the gradient of its keys or values: to that gradient itself, or to `sums`.
  void add_key_gradient(const TileView& view, const float* factors, const FloatRows& rows, float* sums, T* gradient, bool add) {
    if constexpr (std::is_same_v<T, float>)
      if (keys_in_place_)
        return Kernels::key_gradient_tile(view, a_.E, factors, rows.data, rows.stride, gradient, a_.kv_position_stride, add || add_keys_);
    Kernels::key_gradient_tile(view, a_.E, factors, rows.data, rows.stride, sums, wide_, add_keys_);
  }

  const AttentionGradient<T>& g_;
  const AttentionArgs& a_;
  std::int64_t b_, part_, group_, first_head_, wide_, alone_ = 0, alone_end_ = 0;
  bool keys_in_place_, in_place_;  // gradients of keys, of queries, are summed where they belong; else in workspace, and rounded once
  bool add_keys_ = false;          // whether sums of the tile's keys have begun
  float scale_;
  float *scores_, *dweights_, *keys_, *keys_transposed_, *values_transposed_, *queries_, *dy_, *dk_, *dv_, *dots_, *lse_, *dq_;
};

/// dq = or += the parts, in their order.
template <class Kernels, class T>
void add_parts(const AttentionGradient<T>& g, std::int64_t b, std::int64_t t) {
  const AttentionArgs& a = g.a;
  const std::int64_t wide = padded_width(a.E);
  for (std::int64_t h = 0; h < a.H; ++h) {
    const auto part = [&](std::int64_t p) { return g.queries_of(p, b, h / g.group()) + (h % g.group() * a.T + t) * wide; };
    float* sum = part(0);
    for (std::int64_t p = 1; p < g.parts; ++p) Kernels::template narrow<float>(part(p), 1.0f, sum, a.E, true);
    Kernels::template narrow<T>(sum, 1.0f, g.dq + reference::query_offset(a, b, t, h), a.E, g.add_dq);
  }
}

template <class T>
void attention_backward(const AttentionArgs& a, const T* q, const T* k, const T* v, const T* y, const T* dy, const compute_t<T>* lse, T* dq,
                        T* dk, T* dv, bool add_dq, bool add_dk, bool add_dv) {
  if constexpr (std::is_same_v<T, double>) {
    reference::attention_backward(a, q, k, v, y, dy, lse, dq, dk, dv, add_dq, add_dk, add_dv);
  } else {
    if (a.K == 0) return;  // no heads
    AttentionGradient<T> gradient{a, q, k, v, y, dy, lse, dq, dk, dv, add_dq, add_dk, add_dv, gradient_parts(a)};
    const std::int64_t heads = a.B * a.K, parts = gradient.parts, queries = a.B * a.H * a.T;
    if (parts > 1) gradient.part_dq = workspace<float>(Slot::shared, parts * queries * padded_width(a.E));
    parallel_for(heads * parts, gradient.group() * a.T * a.S * a.E * 5 / parts / products_per_work, [&](std::int64_t task) {
      const std::int64_t b = task / parts / a.K, kv_head = task / parts % a.K;
      with_vectors([&](auto kernels) { GradientTask<decltype(kernels), T>(gradient, b, kv_head, task % parts).run(); });
    });
    if (parts > 1)
      parallel_for(a.B * a.T, a.H * a.E * parts / 4,
                   [&](std::int64_t i) { with_vectors([&](auto kernels) { add_parts<decltype(kernels)>(gradient, i / a.T, i % a.T); }); });
  }
}

}  // namespace llm::cpu
