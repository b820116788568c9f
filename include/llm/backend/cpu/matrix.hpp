// A matrix operand: a pointer and two strides, so that a transpose or a head of a larger tensor is no copy.
#pragma once

#include <cstdint>

namespace llm::cpu {

/// Element (i, j) stands at data[i * row_stride + j * col_stride]; one of the strides is 1.
template <class T>
struct Matrix {
  using value_type = T;
  const T* data;
  std::int64_t row_stride, col_stride;

  Matrix transposed() const { return {data, col_stride, row_stride}; }
  Matrix from(std::int64_t row, std::int64_t col) const { return {data + row * row_stride + col * col_stride, row_stride, col_stride}; }
};

/// A dense row-major matrix with rows of `cols` elements.
template <class T>
Matrix<T> dense(const T* data, std::int64_t cols) {
  return {data, cols, 1};
}

}  // namespace llm::cpu
