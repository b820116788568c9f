// Matrix products by Eigen, one sequential product a tile, in workspace of ours: Eigen itself would allocate for larger shapes.
//
// Eigen uses the instructions that the translation unit is compiled for. Two translation units with different -march flags would give
// two bodies to one function, as with any use of Eigen: compile a program with one set of flags.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/cpu/eigen.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Eigen's blocking, with the two packed panels in memory of the calling thread.
template <class S>
class EigenBlocking : public Eigen::internal::level3_blocking<S, S> {
 public:
  static constexpr std::int64_t max_depth = 256;

  EigenBlocking(std::int64_t rows, std::int64_t cols, std::int64_t depth) {
    this->m_kc = (std::min)(depth, max_depth);
    this->m_mc = cols;  // a product into a row-major matrix runs transposed inside Eigen
    this->m_nc = rows;
    this->m_blockA = workspace<S>(Slot::packed_right, this->m_mc * this->m_kc);
    this->m_blockB = workspace<S>(Slot::packed_left, this->m_nc * this->m_kc);
  }
};

template <class S, int OrderA, int OrderB>
void eigen_product(std::int64_t M, std::int64_t N, std::int64_t K, const S* a, std::int64_t a_stride, const S* b, std::int64_t b_stride,
                   S* c, std::int64_t c_stride) {
  EigenBlocking<S> blocking(M, N, K);
  Eigen::internal::general_matrix_matrix_product<Eigen::Index, S, OrderA, false, S, OrderB, false, Eigen::RowMajor, 1>::run(
      M, N, K, a, a_stride, b, b_stride, c, 1, c_stride, S(1), blocking, nullptr);
}

/// c[M,N] += a[M,K] b[K,N] on the calling thread; c has rows of c_stride elements. Each of a and b is dense along rows or columns.
template <class S>
void eigen_tile(std::int64_t M, std::int64_t N, std::int64_t K, Matrix<S> a, Matrix<S> b, S* c, std::int64_t c_stride) {
  if (M == 0 || N == 0 || K == 0) return;
  const bool a_rows = a.col_stride == 1, b_rows = b.col_stride == 1;
  const std::int64_t a_stride = a_rows ? a.row_stride : a.col_stride, b_stride = b_rows ? b.row_stride : b.col_stride;
  constexpr int row = Eigen::RowMajor, col = Eigen::ColMajor;
  if (a_rows && b_rows) return eigen_product<S, row, row>(M, N, K, a.data, a_stride, b.data, b_stride, c, c_stride);
  if (a_rows) return eigen_product<S, row, col>(M, N, K, a.data, a_stride, b.data, b_stride, c, c_stride);
  if (b_rows) return eigen_product<S, col, row>(M, N, K, a.data, a_stride, b.data, b_stride, c, c_stride);
  return eigen_product<S, col, col>(M, N, K, a.data, a_stride, b.data, b_stride, c, c_stride);
}

}  // namespace llm::cpu
