// The product of two matrices on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/product_eigen.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// How a product [M, N] of depth K is cut. It follows from the shape alone, and each result is added up in the order of k whatever the
/// cut, so that results depend on neither threads nor tiles.
struct ProductPlan {
  std::int64_t depth, chunk_cols, task_rows, task_cols;

  ProductPlan(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t block_rows, std::int64_t panel_cols) {
    constexpr std::int64_t deepest = 256, packed_floats = 1 << 20, task_work = 1 << 21, most_rows = 96;
    depth = ceil_div(ceil_div(K, ceil_div(K, deepest)), 8) * 8;
    chunk_cols = (std::min)(N, (std::max)(std::int64_t{1}, packed_floats / K / panel_cols) * panel_cols);
    const std::int64_t tasks = (std::clamp)(M * chunk_cols * K / task_work, std::int64_t{1}, std::int64_t{64});
    task_rows = (std::min)(ceil_div(ceil_div(M, tasks), block_rows) * block_rows, most_rows / block_rows * block_rows);
    const std::int64_t panels = ceil_div(chunk_cols, panel_cols);
    const std::int64_t col_tasks = (std::clamp)(tasks / ceil_div(M, task_rows), std::int64_t{1}, panels);
    task_cols = ceil_div(panels, col_tasks) * panel_cols;
  }
};

/// The rows of the left operand as the kernels want them: as they are, or packed when they are dense along columns.
template <class Kernels, class A>
struct LeftRows {
  const float* data;
  std::int64_t stride;
  bool packed;

  LeftRows(Matrix<A> a, std::int64_t rows, std::int64_t depth) {
    const Matrix<float> wide = widened(a, rows, depth, Slot::rows);
    packed = wide.col_stride != 1;
    data = wide.data;
    stride = wide.row_stride;
    if (packed) {
      float* blocks = workspace<float>(Slot::packed_left, ceil_div(rows, Kernels::block_rows) * Kernels::block_rows * depth);
      Kernels::pack_rows(wide, rows, depth, blocks);
      data = blocks;
    }
  }
};

/// out[M, cols] = a[M, K] times panels of packed columns [first, first + cols) of a right operand that has `all_cols` packed columns.
template <class Kernels, class A, class T>
void multiply_tile(std::int64_t M, std::int64_t K, std::int64_t depth, Matrix<A> a, const float* packed, std::int64_t all_cols,
                   std::int64_t first, std::int64_t cols, Tile<T>& tile) {
  for (std::int64_t k = 0; k < K; k += depth) {
    const std::int64_t some = (std::min)(depth, K - k);
    const LeftRows<Kernels, A> left(a.from(0, k), M, some);
    const float* block = packed + k * Kernels::padded(all_cols);
    for (std::int64_t j = 0; j < cols; j += Kernels::block_cols) {
      const std::int64_t some_cols = (std::min)(Kernels::block_cols, cols - j);
      Kernels::multiply_panel(M, some_cols, some, left.data, left.stride, left.packed, block + (first + j) * some,
                              Kernels::padded(some_cols), tile.data() + j, tile.stride(), k > 0 || tile.needs_fill());
    }
  }
}

/// Packs columns [first, first + cols) of b, all K deep, into workspace that the calling thread's workers share. `panel(j, cols, to)`
/// is left to pack what it wants: it gets a panel's first column, its width, and where it goes.
template <class Kernels, class Right>
const float* pack_right(const Right& right, std::int64_t K, std::int64_t depth, std::int64_t first, std::int64_t cols) {
  const std::int64_t wide = Kernels::padded(cols);
  float* packed = workspace<float>(Slot::shared, K * wide);
  parallel_for(ceil_div(cols, Kernels::block_cols), K * Kernels::block_cols / 4, [&](std::int64_t panel) {
    const std::int64_t j = panel * Kernels::block_cols, some_cols = (std::min)(Kernels::block_cols, cols - j);
    const auto columns = right.columns(first + j, some_cols);
    for (std::int64_t k = 0; k < K; k += depth) {
      const std::int64_t some = (std::min)(depth, K - k);
      Kernels::pack_panel(columns.from(k, 0), some, some_cols, packed + k * wide + j * some);
    }
  });
  return packed;
}

/// The right operand of a product as a matrix in memory. Others make their columns as they are asked for.
template <class B>
struct MatrixColumns {
  Matrix<B> matrix;
  Matrix<B> columns(std::int64_t first, std::int64_t) const { return matrix.from(0, first); }
};

template <class Kernels, class A, class Right, class T>
void packed_product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<A> a, const Right& right, const Output<T>& out) {
  const ProductPlan plan(M, N, K, Kernels::block_rows, Kernels::block_cols);
  for (std::int64_t first = 0; first < N; first += plan.chunk_cols) {
    const std::int64_t cols = (std::min)(plan.chunk_cols, N - first), col_tasks = ceil_div(cols, plan.task_cols);
    const float* packed = pack_right<Kernels>(right, K, plan.depth, first, cols);
    parallel_for(ceil_div(M, plan.task_rows) * col_tasks, plan.task_rows * plan.task_cols * K / products_per_work, [&](std::int64_t task) {
      const std::int64_t row = task / col_tasks * plan.task_rows, col = task % col_tasks * plan.task_cols;
      const std::int64_t rows = (std::min)(plan.task_rows, M - row), some_cols = (std::min)(plan.task_cols, cols - col);
      Tile<T> tile(out, row, first + col, rows, some_cols);
      if (tile.needs_fill()) tile.fill();
      multiply_tile<Kernels>(rows, K, plan.depth, a.from(row, 0), packed, cols, col, some_cols, tile);
      tile.write_back();
    });
  }
}

template <class T, class Right>
void eigen_product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<T> a, const Right& right, const Output<T>& out) {
  constexpr std::int64_t task_rows = 128, task_cols = 192, depth = EigenBlocking<compute_t<T>>::max_depth;
  const std::int64_t row_tasks = ceil_div(M, task_rows), col_tasks = ceil_div(N, task_cols);
  parallel_for(row_tasks * col_tasks, (std::min)(M, task_rows) * (std::min)(N, task_cols) * K / products_per_work, [&](std::int64_t task) {
    const std::int64_t row = task / col_tasks * task_rows, col = task % col_tasks * task_cols;
    const std::int64_t rows = (std::min)(task_rows, M - row), cols = (std::min)(task_cols, N - col);
    Tile<T> tile(out, row, col, rows, cols);
    tile.fill();
    const auto b = right.columns(col, cols);
    for (std::int64_t k = 0; k < K; k += depth) {
      const std::int64_t some = (std::min)(depth, K - k);
      eigen_tile(rows, cols, some, widened(a.from(row, k), rows, some, Slot::scores), widened(b.from(k, 0), some, cols, Slot::rows),
                 tile.data(), tile.stride());
    }
    tile.write_back();
  });
}

/// out[M,N] = a[M,K] b[K,N], with the output's bias and `add`. Accumulates in compute_t<T> and rounds once.
template <class T, class Right>
void product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<T> a, const Right& right, const Output<T>& out) {
  if (M == 0 || N == 0) return;
#if LLM_X86
  if constexpr (!std::is_same_v<T, double>) {
    const Isa isa = current_isa();
    if (isa >= Isa::avx512 && K > 0) return packed_product<avx512::Kernels>(M, N, K, a, right, out);
    if (isa == Isa::avx2 && K > 0) return packed_product<avx2::Kernels>(M, N, K, a, right, out);
  }
#endif
  eigen_product(M, N, K, a, right, out);
}

}  // namespace llm::cpu
