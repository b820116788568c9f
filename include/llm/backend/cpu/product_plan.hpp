// How the work of a product is cut for threads and caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <llm/backend/cpu/blocks.hpp>

namespace llm::cpu {

/// How deep the pieces are in which a product of depth K is added up, in values, of which a unit of depth holds `unit`. Deep pieces write
/// sums less often. But where a row of the left operand has its values far apart, each needs a line of the caches, unless it is packed for
/// good, which counts as near. Pairs of far values are packed for each piece, the less often the deeper they are. It follows from the shape
/// of the product and its layout alone, and each result adds up its pieces in order, so that results depend on neither threads nor tiles. A
/// multiple of `block`, the elements of a block of the right operand's storage format, and of 32.
constexpr std::int64_t product_depth(std::int64_t K, std::int64_t unit, bool left_near, std::int64_t block) {
  const std::int64_t deepest = unit == 1 ? (left_near ? 512 : 192) : (left_near ? 384 : 512);
  return round_up(ceil_div(K, ceil_div(K, deepest)), (std::max)(block, std::int64_t{32}));
}

/// The result [M, N] in row_parts x col_parts tasks, such that every thread gets the same work and little is packed more than once.
struct ProductPlan {
  std::int64_t row_parts, col_parts;

  ProductPlan(std::int64_t M, std::int64_t vectors, std::int64_t block_rows, std::int64_t panel_vectors, bool packs, std::int64_t threads) {
    constexpr std::int64_t most_rows = 512, many = 16;
    const std::int64_t least = ceil_div(M, most_rows), most = (std::min)(least + (std::min)(threads, many), M);
    std::int64_t best = 0;
    for (std::int64_t rows = least; rows <= most; ++rows) {
      const std::int64_t cols = (std::min)(threads / std::gcd(threads, rows), vectors), rounds = ceil_div(rows * cols, threads);
      const std::int64_t cost = rounds * task_cost(ceil_div(M, rows), ceil_div(vectors, cols), block_rows, panel_vectors, packs);
      if (rows > least && cost >= best) continue;
      best = cost;
      row_parts = rows;
      col_parts = cols;
    }
  }

 private:
  /// In multiply-adds of a vector for one step of depth: the products, what writing a block costs beside them, and packing panels if it
  /// packs them.
  static std::int64_t task_cost(std::int64_t rows, std::int64_t vectors, std::int64_t block_rows, std::int64_t panel_vectors, bool packs) {
    const std::int64_t pack = packs ? 4 : 0;
    const EvenBlocks blocks(rows, block_rows);
    const std::int64_t padded = blocks.least + 1 < block_rows ? blocks.count * block_rows : rows;
    return padded * vectors + blocks.count * ceil_div(vectors, panel_vectors) + pack * vectors;
  }
};

}  // namespace llm::cpu
