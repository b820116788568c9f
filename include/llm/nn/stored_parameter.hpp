// The view under which a frozen model lists its parameters: for loaders, and for what writes files.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <llm/nn/parameter.hpp>
#include <llm/tensor/stored_matrix.hpp>

namespace llm {

template <class Backend>
class StoredParameterView;

/// One parameter of a frozen model that is const: a matrix in a storage format of its own, or a vector in f32. Refers to the model, which
/// must stay where it is meanwhile.
template <class Backend>
class ConstStoredParameterView : public ParameterFacts {
 public:
  /// How the elements are stored: f32 for vectors.
  DType format() const { return matrix_ ? matrix_->format() : DType::f32; }

  /// Elements of rows [first, first + count), decoded, for a vector elements, to the host. Throws ShapeError when there are none yet.
  template <class Out>
  void copy_rows(std::int64_t first, std::int64_t count, Out* out) const {
    const std::int64_t width = is_matrix() ? shape()[1] : 1;
    std::vector<float> values(static_cast<std::size_t>(count * width));
    if (matrix_) {
      detail::require_filled("llm::StoredParameterView::copy_rows", *matrix_);
      std::vector<Token> ids(static_cast<std::size_t>(count));
      std::iota(ids.begin(), ids.end(), static_cast<Token>(first));
      const auto rows = Tensor<Token, Shape<dyn>, Backend>::from(ids, {count});
      auto decoded = Tensor<float, Shape<dyn>, Backend>::empty({count * width});
      Backend::template embedding_forward_stored<float>(rows.data(), matrix_->format(), matrix_->data(), decoded.data(), count, width);
      Backend::memory::copy_to_host(values.data(), std::as_const(decoded).data(), values.size() * sizeof(float));
    } else {
      Backend::memory::copy_to_host(values.data(), vector_.data() + first, values.size() * sizeof(float));
    }
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<Out>(values[i]);
  }
  /// The same as files have them, in format(): what assign was given.
  void copy_bytes(std::int64_t first, std::int64_t count, std::byte* out) const {
    if (!matrix_) return Backend::memory::copy_to_host(out, vector_.data() + first, static_cast<std::size_t>(count) * sizeof(float));
    detail::require_filled("llm::StoredParameterView::copy_bytes", *matrix_);
    Backend::restore_rows(matrix_->format(), matrix_->data(), first, count, shape()[1], out);
  }

 protected:
  friend class StoredParameterView<Backend>;

  template <class S>
  ConstStoredParameterView(const Tensor<float, S, Backend>& tensor, ParameterKind kind, const ParameterPlace& place)
      : ParameterFacts(tensor.shape(), kind, place), vector_(tensor.template view<Shape<dyn>>({tensor.numel()})) {}
  template <std::int64_t Rows, std::int64_t Columns>
  ConstStoredParameterView(const StoredMatrix<Rows, Columns, Backend>& matrix, ParameterKind kind, const ParameterPlace& place)
      : ParameterFacts(Shape<Rows, Columns>(), kind, place), matrix_(&matrix) {}

  Tensor<float, Shape<dyn>, Backend> vector_;  // or
  const StoredRows<Backend>* matrix_ = nullptr;
};

/// The same of a model that is not, whose elements may be changed.
template <class Backend>
class StoredParameterView : public ConstStoredParameterView<Backend> {
  using Base = ConstStoredParameterView<Backend>;
  using Base::matrix_, Base::vector_;

 public:
  /// Of a tensor or matrix that is not const: a model lists itself through one walk, and gives the views of a const one as their base.
  template <class TensorOrMatrix>
  StoredParameterView(const TensorOrMatrix& elements, ParameterKind kind, const ParameterPlace& place) : Base(elements, kind, place) {}

  /// Overwrites all elements with those of `bytes`, row-major. A matrix keeps the format, but for f64, which becomes f32; a vector is
  /// decoded. Throws ShapeError when the number of bytes is not theirs, or a row is no whole number of blocks.
  void assign(DType format, std::span<const std::byte> bytes) {
    if (!matrix_) return detail::assign_decoded(vector_, format, bytes);
    if (format != DType::f64) return store(format, bytes);
    auto narrow = Tensor<float, Shape<dyn>, Backend>::empty({this->numel()});
    detail::assign_decoded(narrow, format, bytes);
    const std::vector<float> values = narrow.to_vector();
    store(DType::f32, std::as_bytes(std::span(values)));
  }
  /// The elements of another view: a matrix shares its bytes, a vector copies them.
  void assign(const Base& other) {
    if (matrix_)
      matrix() = *other.matrix_;
    else
      Backend::template copy<float>(vector_.data(), other.vector_.data(), this->numel());
  }

 private:
  StoredRows<Backend>& matrix() { return const_cast<StoredRows<Backend>&>(*matrix_); }
  void store(DType format, std::span<const std::byte> bytes) {
    matrix() = StoredRows<Backend>::from(format, bytes, this->shape()[0], this->shape()[1]);
  }
};

}  // namespace llm
