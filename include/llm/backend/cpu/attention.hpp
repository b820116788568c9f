// Grouped-query attention: tiles of 64 queries x 64 keys with an online softmax, and its gradient. Memory grows with T, not T^2.
// Sources: arXiv:2205.14135 (tiling), arXiv:2305.13245 (groups).
#pragma once

#include <algorithm>
#include <cmath>
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

/// The workspace of one task of attention_forward: all query heads of one KV head, one block of queries.
struct ForwardSpace {
  float *keys, *values, *scores, *sums, *largest, *total;

  ForwardSpace(std::int64_t group, std::int64_t E) {
    const std::int64_t wide = padded_width(E), rows = group * tile;
    WorkspaceCutter cut(2 * tile * wide + strip * tile + rows * wide + 2 * rows);
    keys = cut(tile * wide);
    values = cut(tile * wide);
    scores = cut(strip * tile);
    sums = cut(rows * wide);
    largest = cut(rows);
    total = cut(rows);
    std::fill(sums, sums + rows * wide, 0.0f);
    std::fill(largest, largest + rows, -std::numeric_limits<float>::infinity());
    std::fill(total, total + rows, 0.0f);
  }
};

template <class Kernels, class T, class KV>
void attention_block(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, float* lse, std::int64_t b, std::int64_t kv_head,
                     std::int64_t first) {
  const std::int64_t group = a.H / a.K, E = a.E, rows = (std::min)(tile, a.T - first), wide = padded_width(E);
  const ForwardSpace space(group, E);
  const auto visible = reference::visible_keys(a, b, first), last = reference::visible_keys(a, b, first + rows - 1);
  const std::int64_t base = reference::key_offset(a, b, 0, kv_head * group);
  for (std::int64_t s = visible.begin; s < last.end; s += tile) {
    const std::int64_t cols = (std::min)(tile, last.end - s);
    const Matrix<KV> keys{k + base + s * a.kv_position_stride, a.kv_position_stride, 1};
    const Matrix<KV> values{v + base + s * a.kv_position_stride, a.kv_position_stride, 1};
    const PackedTile keys_transposed = pack_tile<Kernels>(keys.transposed(), E, cols, space.keys);
    const PackedTile packed_values = pack_tile<Kernels>(values, cols, E, space.values);
    for (std::int64_t g = 0; g < group; ++g)
      for (std::int64_t r = 0; r < rows; r += strip) {
        const std::int64_t some = (std::min)(strip, rows - r), used = seen_keys(a, b, first + r, some, s, cols);
        if (used == 0) continue;
        const Matrix<T> queries{q + reference::query_offset(a, b, first + r, kv_head * group + g), a.H * E, 1};
        float* sums = space.sums + (g * tile + r) * wide;
        multiply_packed<Kernels>(some, used, E, queries, keys_transposed, 0, space.scores, tile, false);
        for (std::int64_t i = 0; i < some; ++i) {
          const auto seen = reference::visible_keys(a, b, first + r + i);
          Kernels::online_softmax(space.scores + i * tile, padded_width(used), (std::clamp)(seen.begin - s, std::int64_t{0}, used),
                                  (std::clamp)(seen.end - s, std::int64_t{0}, used), static_cast<float>(a.scale),
                                  space.largest[g * tile + r + i], space.total[g * tile + r + i], sums + i * wide, E);
        }
        multiply_packed<Kernels>(some, E, used, dense<float>(space.scores, tile), packed_values, 0, sums, wide, true);
      }
  }
  for (std::int64_t g = 0; g < group; ++g)
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = reference::query_row(a, b, first + r, kv_head * group + g);
      const float total = space.total[g * tile + r];
      Kernels::template narrow<T>(space.sums + (g * tile + r) * wide, total == 0.0f ? 0.0f : 1.0f / total, y + row * E, E, false);
      if (lse != nullptr) lse[row] = space.largest[g * tile + r] + std::log(total);
    }
}

template <class T, class KV>
void attention_forward(const AttentionArgs& a, const T* q, const KV* k, const KV* v, T* y, compute_t<T>* lse) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<KV, double>) {
    reference::attention_forward(a, q, k, v, y, lse);
  } else {
    if (a.T == 1) return attention_decode(a, q, k, v, y, lse);
    const std::int64_t blocks = (a.T + tile - 1) / tile, group = a.H / a.K;
    parallel_for(a.B * a.K * blocks, group * (std::min)(a.T, tile) * a.S * a.E * 5 / products_per_work, [&](std::int64_t task) {
      const std::int64_t block = task % blocks, kv_head = task / blocks % a.K, b = task / blocks / a.K;
      with_vectors([&](auto kernels) { attention_block<decltype(kernels)>(a, q, k, v, y, lse, b, kv_head, block * tile); });
    });
  }
}

}  // namespace llm::cpu
