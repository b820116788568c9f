// The product of two matrices on several threads.
//
// A product is cut into one task for each thread (ProductPlan). A task packs for itself what it reads, so threads share nothing and wait
// for nobody. It takes its columns a panel at a time and its depth a piece at a time; while one panel is multiplied, the next one's
// source is fetched.
//
// What a set of kernels offers:
//   Packed                          one element of packed operands: depth_unit values that follow each other in depth
//   depth_unit                      1 for float; 2 for pairs of bf16. Depths below are in values, LeftView's depth in units.
//   block_rows, block_cols          the largest block of the result in registers, and
//   vector_cols                     the columns of one vector; panels have whole vectors: padded(cols) columns
//   view_left(a, K, view)            whether rows of a may be read where they are (dense along the depth or not), and how
//   view_right(b, cols, panel, wide)  the same for a panel
//   left_size(M, K)                 how many elements packed rows take
//   pack_left(a, M, K, to)          packs rows into them; returns the view
//   pack_panel(b, K, cols, to)      packs a panel into padded(cols) * ceil_div(K, depth_unit) elements
//   multiply(M, cols, K, left, panel, wide, before, before_stride, c, c_stride, ahead)
//                                   c = before + left * panel in float, for at most block_cols columns, and fetches `ahead`
//   stores<C>                       whether c may be of type C
//   dot_rows, Weights<float>        as of DotRows, for kernels of float
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/product_eigen.hpp>
#include <llm/backend/cpu/product_plan.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// The right operand of a product as a matrix in memory. Others make their values as they are asked for.
template <class B>
struct MatrixColumns {
  Matrix<B> matrix;

  /// Rows [k, k + depth) of columns [col, col + cols).
  Matrix<B> block(std::int64_t k, std::int64_t, std::int64_t col, std::int64_t) const { return matrix.from(k, col); }
  /// Rows that are asked for together, at a multiple of their number.
  static std::int64_t block_depth() { return 1; }
  /// Whether rows lie so close together that those of a panel do not compete for the same sets of the first cache.
  bool rows_near() const { return matrix.col_stride == 1 && matrix.row_stride <= 512; }
  Ahead ahead(std::int64_t k, std::int64_t depth, std::int64_t col, std::int64_t cols) const {
    constexpr std::int64_t size = sizeof(B);
    const B* first = matrix.from(k, col).data;
    if (matrix.col_stride == 1) return {first, depth, cols * size, matrix.row_stride * size};
    return {first, cols, depth * size, matrix.col_stride * size};
  }
};

/// The right operand of a product, of N columns, and where the result goes.
template <class Right, class Out>
struct Factor {
  Right right;
  std::int64_t N;
  Out out;
};

/// The last columns of a product that are computed as dot products, since a vector would be mostly empty: which they are follows from
/// the shape alone.
template <class Kernels, class A, class Right, class Out>
struct RestColumns {
  static constexpr bool possible =
      std::is_same_v<A, float> && std::is_same_v<Right, MatrixColumns<float>> && std::is_same_v<Out, Output<float>>;

  static std::int64_t count(Matrix<A> a, const Factor<Right, Out>& f) {
    constexpr std::int64_t vector = Kernels::vector_cols;
    if constexpr (possible) {
      const std::int64_t rest = f.N % vector;
      if (a.col_stride == 1 && f.right.matrix.row_stride == 1 && f.N > vector && rest <= vector / 4 && !f.out.add) return rest;
    }
    return 0;
  }
  static void multiply(const Factor<Right, Out>& f, std::int64_t K, Matrix<A> a, std::int64_t row, std::int64_t rows) {
    if constexpr (possible) {
      const std::int64_t rest = count(a, f), first = f.N - rest;
      if (rest == 0) return;
      // Blocks of dot products are wider than high: so the many rows are what they take as weights.
      using Rows = typename Kernels::template Weights<float>;
      const Matrix<float> columns = f.right.matrix.from(0, first).transposed();
      float* dots = workspace<float>(Slot::tile, rest * rows);
      Kernels::dot_rows(rest, rows, K, columns.data, columns.row_stride, Rows{a.from(row, 0).data, a.row_stride},
                        static_cast<const float*>(nullptr), dots, rows);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < rest; ++j)
          f.out.data[(row + i) * f.out.stride + first + j] = dots[j * rows + i] + (f.out.bias == nullptr ? 0.0f : f.out.bias[first + j]);
    }
  }
};

/// A part of one product: rows [row, row + rows) of columns [col, col + cols), on the calling thread.
template <class Kernels, class A, class Right, class Out>
class ProductTask {
 public:
  ProductTask(std::int64_t K, Matrix<A> a, const Factor<Right, Out>& factor, std::int64_t row, std::int64_t rows, std::int64_t col,
              std::int64_t cols)
      : K_(K),
        packs_left_(a.col_stride >= far_values && factor.N >= many_cols &&
                    K <= product_depth(K, Kernels::depth_unit, true, factor.right.block_depth())),
        depth_(product_depth(K, Kernels::depth_unit, a.col_stride <= near_values || (packs_left_ && Kernels::depth_unit == 1),
                             factor.right.block_depth())),
        a_(a.from(row, 0)),
        factor_(factor),
        row_(row),
        rows_(rows),
        col_(col),
        cols_(cols),
        panels_(ceil_div(cols, Kernels::vector_cols), Kernels::block_cols / Kernels::vector_cols) {}

  void run() const {
    const std::int64_t together = needs_sums() ? group_panels : panels_.count;
    for (std::int64_t first = 0; first < panels_.count; first += together) group(first, (std::min)(panels_.count, first + together));
  }

 private:
  using Packed = typename Kernels::Packed;
  using Value = typename Out::value_type;
  /// Whether kernels store finished results themselves; else those go through sums in float.
  static constexpr bool direct = Kernels::template stores<Value>;
  static constexpr std::int64_t group_panels = 8;        // their sums stay in the caches while the depth passes by
  static constexpr std::int64_t few_rows_of_panel = 64;  // a panel that is not read often is read where it is, as is one of near rows
  static constexpr std::int64_t near_values = 512;       // so close, values of a row of the left operand share few sets of the first cache
  static constexpr std::int64_t far_values = 2048, many_cols = 512;  // so far, they are packed for so many columns, where once is enough

  static std::int64_t units(std::int64_t depth) { return ceil_div(depth, Kernels::depth_unit); }
  std::int64_t panel_col(std::int64_t panel) const { return (std::min)(panels_.first(panel) * Kernels::vector_cols, cols_); }
  std::int64_t panel_cols(std::int64_t panel) const { return panel_col(panel + 1) - panel_col(panel); }

  /// All depth of panels [first, end). What is added up over several pieces of depth lies close together until it is complete.
  void group(std::int64_t first, std::int64_t end) const {
    constexpr std::int64_t wide = Kernels::block_cols;
    const std::int64_t panel_sums = needs_sums() ? rows_ * wide : 0;
    float* sums = workspace<float>(Slot::tile, panel_sums * (end - first) + wide);
    for (std::int64_t k = 0; k < K_; k += depth_) {
      const std::int64_t some = (std::min)(depth_, K_ - k);
      const bool last = k + some == K_;
      const LeftView<Packed> left = left_rows(k, some);
      for (std::int64_t p = first; p < end; ++p) {
        float* mine = sums + wide + (p - first) * panel_sums;
        Tile<Out> tile(factor_.out, row_, col_ + panel_col(p), rows_, panel_cols(p), mine, wide);
        const Ahead next = p + 1 < end ? ahead(k, p + 1) : last ? ahead(0, end) : ahead(k + depth_, first);
        const Before<float> before = k == 0 ? tile.before(sums) : Before<float>{mine, wide};
        if constexpr (direct) {
          if (last) {
            multiply(k, some, p, left, next, before, tile.result(), factor_.out.stride);
            continue;
          }
        }
        multiply(k, some, p, left, next, before, last ? tile.data() : mine, last ? tile.stride() : wide);
        if (last) tile.finish();
      }
    }
  }
  /// Whether anything waits in float before it reaches the result.
  bool needs_sums() const { return K_ > depth_ || (!std::is_same_v<Value, float> && (!direct || factor_.out.add)); }

  LeftView<Packed> left_rows(std::int64_t k, std::int64_t depth) const {
    const Matrix<A> a = a_.from(0, k);
    LeftView<Packed> view;
    if (!packs_left_ && Kernels::view_left(a, depth, view)) return view;
    return Kernels::pack_left(a, rows_, depth, workspace<Packed>(Slot::packed_left, Kernels::left_size(rows_, depth)));
  }

  template <class C>
  void multiply(std::int64_t k, std::int64_t depth, std::int64_t p, const LeftView<Packed>& left, const Ahead& next, Before<float> before,
                C* c, std::int64_t c_stride) const {
    const std::int64_t cols = panel_cols(p);
    const auto b = factor_.right.block(k, depth, col_ + panel_col(p), cols);
    const Packed* panel;
    std::int64_t wide = Kernels::padded(cols);
    if ((rows_ > few_rows_of_panel && !factor_.right.rows_near()) || !Kernels::view_right(b, cols, panel, wide)) {
      Packed* packed = workspace<Packed>(Slot::packed_right, units(depth) * Kernels::block_cols);
      Kernels::pack_panel(b, depth, cols, packed);
      panel = packed;
    }
    Kernels::multiply(rows_, cols, depth, left, panel, wide, before.data, before.stride, c, c_stride, next);
  }
  Ahead ahead(std::int64_t k, std::int64_t panel) const {
    if (panel == panels_.count) return {};
    return factor_.right.ahead(k, (std::min)(depth_, K_ - k), col_ + panel_col(panel), panel_cols(panel));
  }

  std::int64_t K_;
  bool packs_left_;
  std::int64_t depth_;
  Matrix<A> a_;
  const Factor<Right, Out>& factor_;
  std::int64_t row_, rows_, col_, cols_;
  EvenBlocks panels_;
};

template <class Kernels, class A, class Right, class Out>
void packed_product(std::int64_t M, std::int64_t K, Matrix<A> a, const Factor<Right, Out>& factor) {
  constexpr std::int64_t vector = Kernels::vector_cols;
  using Rest = RestColumns<Kernels, A, Right, Out>;
  const std::int64_t N = factor.N - Rest::count(a, factor), vectors = ceil_div(N, vector);
  if (M == 0 || vectors == 0) return;
  const std::int64_t work = M * vectors * vector * K / products_per_work;
  const bool packs = !std::is_same_v<A, typename Kernels::Packed> || Kernels::depth_unit > 1 || !factor.right.rows_near();
  const ProductPlan plan(M, vectors, Kernels::block_rows, Kernels::block_cols / vector, packs, work < serial_work ? 1 : threads_here());
  const EvenBlocks rows = EvenBlocks::of(plan.row_parts, M), cols = EvenBlocks::of(plan.col_parts, vectors);
  parallel_for(plan.row_parts * plan.col_parts, work / (plan.row_parts * plan.col_parts), [&](std::int64_t task) {
    const std::int64_t row_part = task / plan.col_parts, col_part = task % plan.col_parts;
    const std::int64_t row = rows.first(row_part), some_rows = rows.size(row_part);
    const std::int64_t first = cols.first(col_part) * vector, end = (std::min)(N, cols.first(col_part + 1) * vector);
    ProductTask<Kernels, A, Right, Out>(K, a, factor, row, some_rows, first, end - first).run();
    if (end == N) Rest::multiply(factor, K, a, row, some_rows);
  });
}

template <class T, class Right, class Out>
void eigen_product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<T> a, const Right& right, const Out& out) {
  constexpr std::int64_t task_rows = 128, task_cols = 192, depth = EigenBlocking<compute_t<T>>::max_depth;
  const std::int64_t row_tasks = ceil_div(M, task_rows), col_tasks = ceil_div(N, task_cols);
  parallel_for(row_tasks * col_tasks, (std::min)(M, task_rows) * (std::min)(N, task_cols) * K / products_per_work, [&](std::int64_t task) {
    const std::int64_t row = task / col_tasks * task_rows, col = task % col_tasks * task_cols;
    const std::int64_t rows = (std::min)(task_rows, M - row), cols = (std::min)(task_cols, N - col);
    Tile<Out> tile(out, row, col, rows, cols, workspace<compute_t<T>>(Slot::tile, rows * cols), cols);
    tile.fill();
    for (std::int64_t k = 0; k < K; k += depth) {
      const std::int64_t some = (std::min)(depth, K - k);
      eigen_tile(rows, cols, some, widened(a.from(row, k), rows, some, Slot::scores),
                 widened(right.block(k, some, col, cols), some, cols, Slot::rows), tile.data(), tile.stride());
    }
    tile.finish();
  });
}

/// out[M,N] = a[M,K] b[K,N], with the output's bias and `add`. Accumulates in compute_t<T> and rounds once.
template <class T, class Right, class Out>
void product(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<T> a, const Right& right, const Out& out) {
#if LLM_X86
  if constexpr (!std::is_same_v<T, double>) {
    const Factor<Right, Out> factor{right, N, out};
    const Isa isa = current_isa();
    if constexpr (std::is_same_v<T, bf16> && std::is_same_v<Right, MatrixColumns<bf16>>)
      if (isa == Isa::avx512_bf16 && K > 0) return packed_product<avx512::ProductBf16>(M, K, a, factor);
    if (isa >= Isa::avx512 && K > 0) return packed_product<avx512::Kernels>(M, K, a, factor);
    if (isa >= Isa::avx2 && K > 0) return packed_product<avx2::Kernels>(M, K, a, factor);
  }
#endif
  eigen_product(M, N, K, a, right, out);
}

}  // namespace llm::cpu
