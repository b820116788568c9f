// The view under which a frozen model lists its parameters: for loaders, and for what writes files.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <llm/nn/parameter.hpp>
#include <llm/tensor/stored_matrix.hpp>

namespace llm {

/// One parameter of a frozen model: a matrix in a storage format of its own, or a vector in f32. Refers to the model, which must stay where
/// it is meanwhile.
template <class Backend>
class StoredParameterView : public ParameterFacts {
 public:
  template <class S>
  StoredParameterView(const Tensor<float, S, Backend>& tensor, ParameterKind kind, const ParameterPlace& place)
      : ParameterFacts(tensor.shape(), kind, place), vector_(tensor.template view<Shape<dyn>>({tensor.numel()})) {}
  template <std::int64_t Rows, std::int64_t Columns>
  StoredParameterView(const StoredMatrix<Rows, Columns, Backend>& matrix, ParameterKind kind, const ParameterPlace& place)
      : ParameterFacts(Shape<Rows, Columns>(), kind, place),
        matrix_(const_cast<StoredMatrix<Rows, Columns, Backend>*>(&matrix)) {}  // a const model lists const views

  /// How the elements are stored: f32 for vectors.
  DType format() const { return matrix_ ? matrix_->format() : DType::f32; }

  /// Overwrites all elements with those of `bytes`, row-major. A matrix keeps the format, but for f64, which becomes f32; a vector is
  /// decoded. Throws ShapeError when the number of bytes is not theirs, or a row is no whole number of blocks.
  void assign(DType format, std::span<const std::byte> bytes) {
    if (!matrix_) return detail::assign_decoded(vector_, format, bytes);
    if (format != DType::f64) return store(format, bytes);
    auto narrow = Tensor<float, Shape<dyn>, Backend>::empty({numel()});
    detail::assign_decoded(narrow, format, bytes);
    const std::vector<float> values = narrow.to_vector();
    store(DType::f32, std::as_bytes(std::span(values)));
  }
  /// The elements of another view: a matrix shares its bytes, a vector copies them.
  void assign(const StoredParameterView& other) {
    if (matrix_)
      *matrix_ = *other.matrix_;
    else
      Backend::template copy<float>(vector_.data(), other.vector_.data(), numel());
  }

 private:
  void store(DType format, std::span<const std::byte> bytes) {
    *matrix_ = StoredRows<Backend>::from(format, bytes, shape()[0], shape()[1]);
  }

  Tensor<float, Shape<dyn>, Backend> vector_;  // or
  StoredRows<Backend>* matrix_ = nullptr;
};

}  // namespace llm
