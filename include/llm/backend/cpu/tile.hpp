// Where a product goes: a tile of the result in the compute type, and operands widened to it.
#pragma once

#include <cstdint>
#include <type_traits>

#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// A result [M, N] with rows of `stride` elements: bias[N] is added to each row when not null; `add` adds to what is there.
template <class T>
struct Output {
  using value_type = T;
  T* data;
  std::int64_t stride;
  const T* bias = nullptr;
  bool add = false;
};

/// What a product is added to: rows of values, one row for all (stride 0), or nothing (null).
template <class C>
struct Before {
  const C* data;
  std::int64_t stride;
};

/// One tile of a result, computed in the compute type: in the result itself, or in `sums` of `stride` and rounded into it once, by finish.
template <class Out>
class Tile {
 public:
  using T = typename Out::value_type;
  using C = compute_t<T>;

  Tile(const Out& out, std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols, C* sums, std::int64_t stride)
      : out_(out), to_(out.data + row * out.stride + col), col_(col), rows_(rows), cols_(cols) {
    if constexpr (std::is_same_v<T, C>) {
      data_ = to_;
      stride_ = out.stride;
    } else {
      data_ = sums;
      stride_ = stride;
    }
  }

  T* result() { return to_; }
  /// Where the complete values go before finish is called.
  C* data() { return data_; }
  std::int64_t stride() const { return stride_; }

  /// What the products are added to. `row` has room for one row.
  Before<C> before(C* row) {
    if (!out_.add && out_.bias == nullptr) return {nullptr, 0};
    if (!out_.add) return {bias(row), 0};
    if (!std::is_same_v<T, C> || out_.bias != nullptr) fill();
    return {data_, stride_};
  }

  /// What was there and the bias, or zeros.
  void fill() {
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j) {
        const C before = out_.add ? C(to_[i * out_.stride + j]) : C(0);
        data_[i * stride_ + j] = out_.bias == nullptr ? before : before + C(out_.bias[col_ + j]);
      }
  }

  void finish() {
    if constexpr (!std::is_same_v<T, C>)
      with_vectors([&](auto kernels) {
        for (std::int64_t i = 0; i < rows_; ++i) kernels.template narrow<T>(data_ + i * stride_, 1.0f, to_ + i * out_.stride, cols_, false);
      });
  }

 private:
  const C* bias([[maybe_unused]] C* row) {
    if constexpr (std::is_same_v<T, C>) {
      return out_.bias + col_;
    } else {
      for (std::int64_t j = 0; j < cols_; ++j) row[j] = C(out_.bias[col_ + j]);
      return row;
    }
  }

  const Out& out_;
  T* to_;
  std::int64_t col_, rows_, cols_;
  C* data_;
  std::int64_t stride_;
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
    with_vectors([&](auto kernels) {
      for (std::int64_t i = 0; i < rows; ++i) kernels.template widen<T>(m.data + i * m.row_stride, copy + i * cols, cols);
    });
    return dense<C>(copy, cols);
  }
}

}  // namespace llm::cpu
