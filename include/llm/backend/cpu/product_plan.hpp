// How the work of a product is cut for threads and caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <llm/backend/cpu/blocks.hpp>

namespace llm::cpu {

/// How deep the pieces are in which a product of depth K is added up. It follows from K alone, and each result adds up its pieces in
/// order, so that results depend on neither threads nor tiles. A multiple of 32, so that no block of a storage format is cut.
constexpr std::int64_t product_depth(std::int64_t K) {
  constexpr std::int64_t deepest = 256;
  return round_up(ceil_div(K, ceil_div(K, deepest)), 32);
}

/// The result [M, N] in row_parts x col_parts tasks, such that every thread gets the same work and little is packed more than once.
struct ProductPlan {
  std::int64_t row_parts, col_parts;

  ProductPlan(std::int64_t M, std::int64_t vectors, std::int64_t vector_cols, std::int64_t threads) {
    constexpr std::int64_t most_rows = 512;
    const std::int64_t least = ceil_div(M, most_rows), most = (std::min)(least + (std::min)(threads, std::int64_t{16}), M);
    double best = 0;
    for (std::int64_t rows = least; rows <= most; ++rows) {
      const std::int64_t cols = (std::min)(threads / std::gcd(threads, rows), vectors), rounds = ceil_div(rows * cols, threads);
      // In vectors of products: the products, and what it takes to pack the right operand, and the left one.
      const double task_rows = static_cast<double>(ceil_div(M, rows)), task_vectors = static_cast<double>(ceil_div(vectors, cols));
      const double cost =
          static_cast<double>(rounds) * (task_rows * task_vectors + 8 * task_vectors + 4 * task_rows / static_cast<double>(vector_cols));
      if (rows > least && cost >= best) continue;
      best = cost;
      row_parts = rows;
      col_parts = cols;
    }
  }
};

}  // namespace llm::cpu
