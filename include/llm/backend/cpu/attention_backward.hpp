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

/// All operands of one call; gradients are written with `add` as named.
template <class T>
struct AttentionGradient {
  const AttentionArgs& a;
  const T *q, *k, *v, *y, *dy;
  const float* lse;
  T *dq, *dk, *dv;
  bool add_dq, add_dk, add_dv;
};

/// The gradients that belong to one KV head of one row of the batch: of its keys and values, and of the queries of its group. One task
/// owns them all, so that sums are added up in one order.
template <class Kernels, class T>
class GradientTask {
 public:
  GradientTask(const AttentionGradient<T>& g, std::int64_t b, std::int64_t kv_head)
      : g_(g), a_(g.a), b_(b), group_(a_.H / a_.K), first_head_(kv_head * group_), wide_(padded_width(a_.E)) {
    const std::int64_t queries = group_ * a_.T, square = tile * tile, panel = tile * wide_;
    WorkspaceCutter cut(queries + 2 * square + 7 * panel + (in_place ? 0 : queries * a_.E));
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
    dq_ = in_place ? nullptr : cut(queries * a_.E);
  }

  void run() {
    start_queries();
    const std::int64_t keys = a_.kv_lengths == nullptr ? a_.S : a_.kv_lengths[b_];
    for (std::int64_t s = 0; s < a_.S; s += tile) {
      const std::int64_t cols = (std::min)(tile, a_.S - s), used = (std::clamp)(keys - s, std::int64_t{0}, cols);
      std::fill(dk_, dk_ + tile * wide_, 0.0f);
      std::fill(dv_, dv_ + tile * wide_, 0.0f);
      if (used > 0) one_key_tile(s, used);
      for (std::int64_t i = 0; i < cols; ++i) {
        const std::int64_t at = reference::key_offset(a_, b_, s + i, first_head_);
        Kernels::template narrow<T>(dk_ + i * wide_, 1.0f, g_.dk + at, a_.E, g_.add_dk);
        Kernels::template narrow<T>(dv_ + i * wide_, 1.0f, g_.dv + at, a_.E, g_.add_dv);
      }
    }
    finish_queries();
  }

 private:
  // Float gradients of queries are summed where they belong; narrower ones in workspace, and rounded once.
  static constexpr bool in_place = std::is_same_v<T, float>;

  template <class F>
  void for_queries(const F& f) {
    for (std::int64_t h = 0; h < group_; ++h)
      for (std::int64_t t = 0; t < a_.T; ++t) f(h * a_.T + t, reference::query_offset(a_, b_, t, first_head_ + h));
  }

  void start_queries() {
    for (std::int64_t h = 0; h < group_; ++h) {
      const std::int64_t at = reference::query_offset(a_, b_, 0, first_head_ + h);
      Kernels::template dot_rows_in_order<T>(g_.dy + at, g_.y + at, a_.H * a_.E, a_.T, a_.E, dots_ + h * a_.T);
    }
    for_queries([&](std::int64_t i, std::int64_t at) {
      if constexpr (in_place) {
        if (!g_.add_dq) std::fill(g_.dq + at, g_.dq + at + a_.E, 0.0f);
      } else {
        std::fill(dq_ + i * a_.E, dq_ + (i + 1) * a_.E, 0.0f);
      }
    });
  }

  void finish_queries() {
    if constexpr (!in_place)
      for_queries([&](std::int64_t i, std::int64_t at) { Kernels::template narrow<T>(dq_ + i * a_.E, 1.0f, g_.dq + at, a_.E, g_.add_dq); });
  }

  /// One tile of keys against all queries that see some of them.
  void one_key_tile(std::int64_t s, std::int64_t cols) {
    const std::int64_t at = reference::key_offset(a_, b_, s, first_head_);
    const Matrix<T> keys{g_.k + at, a_.kv_position_stride, 1}, values{g_.v + at, a_.kv_position_stride, 1};
    packed_keys_ = pack_tile<Kernels>(keys, cols, a_.E, keys_);
    packed_keys_transposed_ = pack_tile<Kernels>(keys.transposed(), a_.E, cols, keys_transposed_);
    packed_values_transposed_ = pack_tile<Kernels>(values.transposed(), a_.E, cols, values_transposed_);
    for (std::int64_t t = 0; t < a_.T; t += tile) {
      const std::int64_t rows = (std::min)(tile, a_.T - t);
      if (reference::visible_keys(a_, b_, t).begin >= s + cols || reference::visible_keys(a_, b_, t + rows - 1).end <= s) continue;
      for (std::int64_t h = 0; h < group_; ++h) one_tile(s, cols, t, rows, h);
    }
  }

  void one_tile(std::int64_t s, std::int64_t cols, std::int64_t t, std::int64_t rows, std::int64_t h) {
    const std::int64_t at = reference::query_offset(a_, b_, t, first_head_ + h), step = a_.H * a_.E;
    const Matrix<T> queries{g_.q + at, step, 1}, dy{g_.dy + at, step, 1};
    for (std::int64_t r = 0; r < rows; r += strip) one_strip(s, cols, t + r, (std::min)(strip, rows - r), h, r);
    const PackedTile packed_dy = pack_tile<Kernels>(dy, rows, a_.E, dy_);
    const PackedTile packed_queries = pack_tile<Kernels>(queries, rows, a_.E, queries_);
    for (std::int64_t c = 0; c < cols; c += strip) {  // some keys and the queries from the first that sees them on
      std::int64_t first = 0;
      while (first < rows && seen_keys(a_, b_, t + first, (std::min)(strip, rows - first), s, cols) <= c) first += strip;
      if (first >= rows) continue;
      const std::int64_t some = (std::min)(strip, cols - c);
      const Matrix<float> weights = dense<float>(scores_, tile).from(first, c), dscores = dense<float>(dweights_, tile).from(first, c);
      multiply_packed<Kernels>(some, a_.E, rows - first, weights.transposed(), packed_dy, first, dv_ + c * wide_, wide_, true);
      multiply_packed<Kernels>(some, a_.E, rows - first, dscores.transposed(), packed_queries, first, dk_ + c * wide_, wide_, true);
    }
  }

  /// Weights and score gradients of the queries [t, t + rows), which go to row r of the tile, and what they add to dq.
  void one_strip(std::int64_t s, std::int64_t cols, std::int64_t t, std::int64_t rows, std::int64_t h, std::int64_t r) {
    const std::int64_t at = reference::query_offset(a_, b_, t, first_head_ + h), E = a_.E, used = seen_keys(a_, b_, t, rows, s, cols);
    if (used == 0) return;
    float *scores = scores_ + r * tile, *dweights = dweights_ + r * tile;
    multiply_packed<Kernels>(rows, used, E, Matrix<T>{g_.q + at, a_.H * E, 1}, packed_keys_transposed_, 0, scores, tile, false);
    multiply_packed<Kernels>(rows, used, E, Matrix<T>{g_.dy + at, a_.H * E, 1}, packed_values_transposed_, 0, dweights, tile, false);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto seen = reference::visible_keys(a_, b_, t + i);
      Kernels::weights_and_gradient(scores + i * tile, dweights + i * tile, padded_width(used),
                                    (std::clamp)(seen.begin - s, std::int64_t{0}, used), (std::clamp)(seen.end - s, std::int64_t{0}, used),
                                    static_cast<float>(a_.scale), g_.lse[reference::query_row(a_, b_, t + i, first_head_ + h)],
                                    dots_[h * a_.T + t + i]);
    }
    float* dq = in_place ? reinterpret_cast<float*>(g_.dq + at) : dq_ + (h * a_.T + t) * E;
    multiply_packed<Kernels>(rows, E, used, dense<float>(dweights, tile), packed_keys_, 0, dq, in_place ? a_.H * E : E, true);
  }

  const AttentionGradient<T>& g_;
  const AttentionArgs& a_;
  std::int64_t b_, group_, first_head_, wide_;
  float *scores_, *dweights_, *keys_, *keys_transposed_, *values_transposed_, *queries_, *dy_, *dk_, *dv_, *dots_, *dq_;
  PackedTile packed_keys_, packed_keys_transposed_, packed_values_transposed_;
};

template <class T>
void attention_backward(const AttentionArgs& a, const T* q, const T* k, const T* v, const T* y, const T* dy, const compute_t<T>* lse, T* dq,
                        T* dk, T* dv, bool add_dq, bool add_dk, bool add_dv) {
  if constexpr (std::is_same_v<T, double>) {
    reference::attention_backward(a, q, k, v, y, dy, lse, dq, dk, dv, add_dq, add_dk, add_dv);
  } else {
    const AttentionGradient<T> gradient{a, q, k, v, y, dy, lse, dq, dk, dv, add_dq, add_dk, add_dv};
    parallel_for(a.B * a.K, a.H / a.K * a.T * a.S * a.E * 5 / products_per_work, [&](std::int64_t task) {
      with_vectors([&](auto kernels) { GradientTask<decltype(kernels), T>(gradient, task / a.K, task % a.K).run(); });
    });
  }
}

}  // namespace llm::cpu
