// What attention's forward pass and gradient share: the view of a tile, operands in a task's workspace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention_view.hpp>
#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/backend/reference/reference.hpp>

namespace llm::cpu {

/// E rounded up so that whole vectors of any instruction set fit.
constexpr std::int64_t padded_width(std::int64_t E) { return round_up(E, 16); }

/// Whether rows of E elements of type T can be read and written as whole vectors of floats where they are.
template <class T>
constexpr bool in_whole_vectors(std::int64_t E) {
  return std::is_same_v<T, float> && E % 16 == 0;
}

/// Hands out consecutive pieces of this thread's attention workspace.
class WorkspaceCutter {
 public:
  explicit WorkspaceCutter(std::int64_t floats) : next_(workspace<float>(Slot::attention, floats)) {}
  float* operator()(std::int64_t floats) {
    float* piece = next_;
    next_ += floats;
    return piece;
  }

 private:
  float* next_;
};

/// The queries [t, t + rows) against the keys [s, s + cols) of row b of the batch.
inline TileView tile_view(const AttentionArgs& a, std::int64_t b, std::int64_t t, std::int64_t rows, std::int64_t s, std::int64_t cols) {
  const auto clamped = [](std::int64_t key) { return static_cast<std::int32_t>((std::clamp)(key, -4 * tile_size, 4 * tile_size)); };
  const std::int64_t keys = a.kv_lengths == nullptr ? a.S : a.kv_lengths[b], position = keys - a.T + t - s;  // among the tile's keys
  return {static_cast<std::int32_t>(rows),
          static_cast<std::int32_t>(cols),
          a.window > 0 ? clamped(position - a.window + 1) : 0,
          clamped(a.causal ? position + 1 : keys - s),
          a.window > 0,
          a.causal};
}

/// Rows of floats that lie together.
struct FloatRows {
  const float* data;
  std::int64_t stride;
};

/// Rows [rows, E] of a tile as floats in whole vectors: where they are, or copied to `space`. A copy does not pay where it can be left
/// out, even of rows so far apart that they do not stay in the first cache together.
template <class Kernels, class T>
FloatRows float_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t E, float* space) {
  if constexpr (std::is_same_v<T, float>)
    if (in_whole_vectors<T>(E)) return {from, stride};
  const std::int64_t wide = padded_width(E);
  Kernels::template copy_rows<T>(from, stride, rows, E, space, wide);
  return {space, wide};
}

}  // namespace llm::cpu
