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

/// Packs a right operand [K, N] into panels.
template <class Kernels, class B>
void pack_tile(Matrix<B> b, std::int64_t K, std::int64_t N, float* packed) {
  for (std::int64_t j = 0; j < N; j += Kernels::block_cols)
    Kernels::pack_panel(b.from(0, j), K, (std::min)(Kernels::block_cols, N - j), packed + j * K);
}

/// c[M, N] = or += a[M, K] times a right operand that pack_tile packed.
template <class Kernels, class A>
void multiply_packed(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<A> a, const float* packed, float* c, std::int64_t c_stride,
                     bool add) {
  const LeftRows<Kernels, A> left(a, M, K);
  for (std::int64_t j = 0; j < N; j += Kernels::block_cols)
    Kernels::multiply_panel(M, (std::min)(Kernels::block_cols, N - j), K, left.data, left.stride, left.packed, packed + j * K, c + j,
                            c_stride, add);
}

}  // namespace llm::cpu
