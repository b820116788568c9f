// A matrix whose storage format is a run-time tag beside its static shape: inference weights in any format.
#pragma once

#include <span>

#include <llm/core/dtype.hpp>
#include <llm/core/shape.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// A read-only [Rows, Columns] matrix, each row a whole number of blocks of `format`. Copies share the bytes.
template <std::int64_t Rows, std::int64_t Columns, class Backend = Cpu>
class StoredMatrix {
 public:
  StoredMatrix() = default;

  /// Copies the bytes of all rows in. Throws ShapeError when a row is no whole number of blocks, or the number of bytes is wrong.
  static StoredMatrix from(DType format, std::span<const std::byte> bytes) {
    const std::int64_t expected = detail::checked_product(Rows, storage_bytes(format, Columns));
    if (static_cast<std::int64_t>(bytes.size()) != expected)
      throw ShapeError(detail::concat("llm::StoredMatrix: ", bytes.size(), " bytes for [", Rows, ", ", Columns, "] in ", to_string(format),
                                      ", which takes ", expected));
    StoredMatrix m;
    m.format_ = format;
    m.buffer_ = detail::Pool<typename Backend::memory>::instance().allocate(bytes.size());
    Backend::memory::copy_from_host(m.buffer_->data, bytes.data(), bytes.size());
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

  DType format() const { return format_; }
  const void* data() const { return buffer_ ? buffer_->data : nullptr; }

 private:
  DType format_ = DType::f32;
  detail::BufferRef buffer_;
};

}  // namespace llm
