// Small products for attention: operands packed into a task's workspace and multiplied on its thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/cpu/product.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Queries and keys of one tile.
inline constexpr std::int64_t tile = 64;

/// E rounded up so that any instruction set's padded panels of E columns fit.
inline std::int64_t padded_width(std::int64_t E) { return (E + 15) / 16 * 16; }

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

/// A right operand [rows, cols] packed into panels.
struct PackedTile {
  const float* data;
  std::int64_t rows, cols;
};

template <class Kernels, class B>
PackedTile pack_tile(Matrix<B> b, std::int64_t rows, std::int64_t cols, float* packed) {
  for (std::int64_t j = 0; j < cols; j += Kernels::block_cols)
    Kernels::pack_panel(b.from(0, j), rows, (std::min)(Kernels::block_cols, cols - j), packed + j * rows);
  return {packed, rows, cols};
}

/// c[M, N] = or += a[M, K] times rows [first, first + K) of the first N columns of b.
template <class Kernels, class A>
void multiply_packed(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<A> a, const PackedTile& b, std::int64_t first, float* c,
                     std::int64_t c_stride, bool add) {
  const LeftRows<Kernels, A> left(a, M, K);
  for (std::int64_t j = 0; j < N; j += Kernels::block_cols) {
    const std::int64_t wide = Kernels::padded((std::min)(Kernels::block_cols, b.cols - j));
    Kernels::multiply_panel(M, (std::min)(Kernels::block_cols, N - j), K, left.data, left.stride, left.packed,
                            b.data + j * b.rows + first * wide, wide, c + j, c_stride, add);
  }
}

/// A tile's queries are taken in strips, so that under a causal mask most pairs that see nothing of each other are left out.
inline constexpr std::int64_t strip = 16;

/// How many of the `cols` keys from s on some query of the strip [t, t + rows) may see, counted to the last one, in whole strips.
inline std::int64_t seen_keys(const AttentionArgs& a, std::int64_t b, std::int64_t t, std::int64_t rows, std::int64_t s,
                              std::int64_t cols) {
  const std::int64_t end = reference::visible_keys(a, b, t + rows - 1).end - s;
  return (std::clamp)((end + strip - 1) / strip * strip, std::int64_t{0}, cols);
}

}  // namespace llm::cpu
