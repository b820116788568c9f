// The product of two matrices in fixed tiles on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/product_eigen.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// What happens to the product: bias[N] is added to each row when not null; `add` adds to what is there.
template <class T>
struct Output {
  T* data;
  std::int64_t stride;
  const T* bias = nullptr;
  bool add = false;
};

/// One tile in the compute type: gets its initial value, then a product, and is written back where T is narrower.
template <class T>
class Tile {
 public:
  using C = compute_t<T>;

  Tile(const Output<T>& out, std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols)
      : to_(out.data + row * out.stride + col), to_stride_(out.stride), rows_(rows), cols_(cols) {
    if constexpr (std::is_same_v<T, C>) {
      data_ = to_;
      stride_ = to_stride_;
    } else {
      data_ = workspace<C>(Slot::tile, rows * cols);
      stride_ = cols;
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const C before = out.add ? C(to_[i * to_stride_ + j]) : C(0);
        data_[i * stride_ + j] = out.bias == nullptr ? before : before + C(out.bias[col + j]);
      }
  }

  C* data() { return data_; }
  std::int64_t stride() const { return stride_; }

  void write_back() {
    if constexpr (!std::is_same_v<T, C>)
      for (std::int64_t i = 0; i < rows_; ++i)
        for (std::int64_t j = 0; j < cols_; ++j) to_[i * to_stride_ + j] = T(data_[i * stride_ + j]);
  }

 private:
  C* data_;
  std::int64_t stride_;
  T* to_;
  std::int64_t to_stride_, rows_, cols_;
};

/// A block of a matrix in the compute type: the matrix itself, or a dense copy in `slot` where T is narrower.
template <class T>
Matrix<compute_t<T>> widened(Matrix<T> m, std::int64_t rows, std::int64_t cols, [[maybe_unused]] Slot slot) {
  using C = compute_t<T>;
  if constexpr (std::is_same_v<T, C>) {
    return m;
  } else {
    if (m.col_stride != 1) return widened(m.transposed(), cols, rows, slot).transposed();
    C* copy = workspace<C>(slot, rows * cols);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) copy[i * cols + j] = C(m.data[i * m.row_stride + j]);
    return dense<C>(copy, cols);
  }
}

/// out[M,N] = a[M,K] b[K,N], with the output's bias and `add`. Accumulates in compute_t<T> and rounds once.
template <class T>
void product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<T> a, Matrix<T> b, const Output<T>& out) {
  constexpr std::int64_t tile_rows = 128, tile_cols = 192, depth = EigenBlocking<compute_t<T>>::max_depth;
  const std::int64_t row_tiles = (M + tile_rows - 1) / tile_rows, col_tiles = (N + tile_cols - 1) / tile_cols;
  parallel_for(row_tiles * col_tiles, (std::min)(M, tile_rows) * (std::min)(N, tile_cols) * K, [&](std::int64_t task) {
    const std::int64_t row = task / col_tiles * tile_rows, col = task % col_tiles * tile_cols;
    const std::int64_t rows = (std::min)(tile_rows, M - row), cols = (std::min)(tile_cols, N - col);
    Tile<T> tile(out, row, col, rows, cols);
    for (std::int64_t k = 0; k < K; k += depth) {
      const std::int64_t some = (std::min)(depth, K - k);
      eigen_tile(rows, cols, some, widened(a.from(row, k), rows, some, Slot::scores), widened(b.from(k, col), some, cols, Slot::rows),
                 tile.data(), tile.stride());
    }
    tile.write_back();
  });
}

}  // namespace llm::cpu
