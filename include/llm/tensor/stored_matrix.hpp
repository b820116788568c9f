// A matrix whose storage format is a run-time tag beside its static shape: inference weights in any format.
#pragma once

#include <span>

#include <llm/core/dtype.hpp>
#include <llm/core/shape.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// The rows of a read-only matrix in one storage format, whatever its size: what all StoredMatrix types share. Copies share the bytes.
template <class Backend>
class StoredRows {
 public:
  StoredRows() = default;

  /// Copies the bytes of all rows in, each a whole number of blocks of `format`, one row behind the other. Throws ShapeError when a row is
  /// no whole number of blocks, or the number of bytes is wrong.
  static StoredRows from(DType format, std::span<const std::byte> bytes, std::int64_t rows, std::int64_t columns) {
    const std::int64_t expected = detail::checked_product(rows, storage_bytes(format, columns));
    if (static_cast<std::int64_t>(bytes.size()) != expected)
      throw ShapeError(detail::concat("llm::StoredMatrix: ", bytes.size(), " bytes for [", rows, ", ", columns, "] in ", to_string(format),
                                      ", which takes ", expected));
    StoredRows m;
    m.format_ = format;
    auto& pool = detail::Pool<typename Backend::memory>::instance();
    m.buffer_ = pool.allocate_lasting(static_cast<std::size_t>(Backend::stored_bytes(format, rows, columns)));
    Backend::store_rows(format, bytes.data(), m.buffer_->data, rows, columns);
    return m;
  }

  DType format() const { return format_; }
  /// The bytes as the backend keeps them.
  const void* data() const { return buffer_ ? buffer_->data : nullptr; }
  /// Whether it has been filled.
  explicit operator bool() const { return static_cast<bool>(buffer_); }

 private:
  DType format_ = DType::f32;
  detail::BufferRef buffer_;
};

/// A read-only [Rows, Columns] matrix, each row a whole number of blocks of a format. Copies share the bytes.
template <std::int64_t Rows, std::int64_t Columns, class Backend = Cpu>
class StoredMatrix : public StoredRows<Backend> {
 public:
  static constexpr std::int64_t rows = Rows, columns = Columns;

  StoredMatrix() = default;

  /// Copies the bytes of all rows in. Throws ShapeError when a row is no whole number of blocks, or the number of bytes is wrong.
  static StoredMatrix from(DType format, std::span<const std::byte> bytes) {
    StoredMatrix m;
    static_cast<StoredRows<Backend>&>(m) = StoredRows<Backend>::from(format, bytes, Rows, Columns);
    return m;
  }

  /// Anything that is no bytes, numbers for example.
  template <class Values>
  requires(!std::is_convertible_v<const Values&, std::span<const std::byte>>) static StoredMatrix from(DType, const Values&) {
    static_assert(detail::values_of<Values, std::byte>,
                  "llm::StoredMatrix::from(format, bytes): the second argument is the rows' bytes in that format (hint: "
                  "std::as_bytes(std::span(values)) when the values are stored as they are)");
    return {};
  }
};

namespace detail {
/// Throws ShapeError for a matrix that nothing was put into.
template <class Backend>
void require_filled(const char* function, const StoredRows<Backend>& matrix) {
  if (!matrix) throw ShapeError(concat(function, ": the stored matrix is empty (hint: StoredMatrix::from, or llm::load for a model)"));
}
}  // namespace detail

}  // namespace llm
