// Which keys of a tile the queries of a tile see.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace llm::cpu {

/// Queries and keys of one tile. Rows of tiles of scores have this many elements, whatever they hold.
inline constexpr std::int64_t tile_size = 64;

/// `rows` queries and `cols` keys; query i sees the keys [first(i), last(i)), none where that is empty. Both ends move with i or stand.
struct TileView {
  std::int32_t rows, cols;
  std::int32_t begin, end;  // of query 0, not yet cut to the tile
  bool begin_moves, end_moves;

  std::int32_t first(std::int32_t i) const { return (std::clamp)(begin + (begin_moves ? i : 0), 0, cols); }
  std::int32_t last(std::int32_t i) const { return (std::clamp)(end + (end_moves ? i : 0), 0, cols); }
  bool none_seen() const { return first(0) >= cols || last(rows - 1) == 0; }

  /// The queries [rows_from(key), rows_to(key)) are those that see a key, but for queries that see none at all.
  std::int32_t rows_from(std::int32_t key) const { return (std::clamp)(end_moves ? key + 1 - end : key < end ? 0 : rows, 0, rows); }
  std::int32_t rows_to(std::int32_t key) const { return (std::clamp)(begin_moves ? key + 1 - begin : key < begin ? 0 : rows, 0, rows); }
};

/// What stands for the largest score of a query whose keys all have scores of -inf: such keys weigh nothing beside others that are seen
/// later, where e^(-inf - -inf) would be NaN. Only when all that a query sees are -inf is its result NaN, as the reference's is.
inline constexpr float least_score = (std::numeric_limits<float>::lowest)();

/// What the softmax of the queries of a tile, one a lane, carries from one tile of keys to the next: the largest score, the sum of
/// exponentials below it, and the factor by which the last tile changed what had been summed before.
struct RunningSoftmax {
  float *largest, *total, *correction;
};

}  // namespace llm::cpu
