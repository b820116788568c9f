// The rows of a GGUF file's tensors, made of those of a model's files.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/gguf_plan.hpp>

namespace llm::detail::gguf {

/// How rows of source tensors are read.
struct RowReader {
  /// Finds a row, or a vector from its start: so many bytes, where they lie, or put into `room`. Called from many threads at once.
  std::function<const std::byte*(const FoundTensor& tensor, std::int64_t row, std::size_t bytes, std::byte* room)> find;
  bool require_finite = false;  // also of rows that are written as they are
};

/// Of tensors that lie in memory.
inline const RowReader& rows_in_memory() {
  static const RowReader reader{[](const FoundTensor& tensor, std::int64_t row, std::size_t bytes, std::byte*) {
    return tensor.bytes.data() + static_cast<std::size_t>(row) * bytes;
  }};
  return reader;
}

/// A source tensor with the format of its elements.
struct SourceTensor {
  const FoundTensor* tensor = nullptr;
  DType dtype = DType::f32;

  std::int64_t columns() const { return tensor->shape.empty() ? 1 : tensor->shape.back(); }
};

/// Makes the rows of one planned tensor. A vector whose elements keep their places is one row.
class RowMaker {
 public:
  RowMaker(const PlannedTensor& plan, std::vector<SourceTensor> parts, DType to, const RowReader& reader)
      : plan_(plan), parts_(std::move(parts)), to_(to), reader_(reader) {
    const ParameterSource& first = plan.parts.front();
    whole_vector_ = plan.vector() && plan.parts.size() == 1 && first.in_order() && first.first_row == 0;
  }

  std::int64_t columns() const { return whole_vector_ ? plan_.rows() : plan_.columns(); }
  std::int64_t rows() const { return whole_vector_ ? 1 : plan_.rows(); }
  bool transposed() const { return plan_.parts.front().transposed; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(storage_bytes(to_, columns())); }

  /// Writes row r to out and adds to the sums. Throws NumericError for values that the format cannot hold.
  void make(std::int64_t r, std::byte* out, double& squared_error, double& squared_sum) const {
    const auto [part, row] = plan_.origin(r);
    const SourceTensor& source = parts_[part];
    if (source.dtype == to_ && !transposed()) {
      const std::byte* const from = reader_.find(*source.tensor, row, row_bytes(), out);
      if (from != out) std::memcpy(out, from, row_bytes());
      if (reader_.require_finite) require_finite(out);
      return;
    }
    std::vector<float> values(static_cast<std::size_t>(columns())), back(values.size());
    read(source, row, values.data());
    quantize_row(to_, values.data(), out, columns());
    dequantize_row(to_, out, back.data(), columns());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = static_cast<double>(values[i]), error = static_cast<double>(back[i]) - value;
      squared_error += error * error, squared_sum += value * value;
    }
  }

 private:
  void require_finite(const std::byte* row) const {
    std::vector<float> values(static_cast<std::size_t>(columns()));
    dequantize_row(to_, row, values.data(), columns());
    for (const float value : values)
      if (!std::isfinite(value)) throw NumericError(concat(value, " is no finite weight"));
  }

  void read(const SourceTensor& source, std::int64_t row, float* out) const {
    std::vector<std::byte> room(static_cast<std::size_t>(storage_bytes(source.dtype, transposed() ? source.columns() : columns())));
    if (!transposed()) return dequantize_row(source.dtype, reader_.find(*source.tensor, row, room.size(), room.data()), out, columns());
    const auto at = static_cast<std::size_t>(storage_bytes(source.dtype, row));  // a column of a matrix of plain elements
    for (std::int64_t i = 0; i < columns(); ++i)
      dequantize_row(source.dtype, reader_.find(*source.tensor, i, room.size(), room.data()) + at, out + i, 1);
  }

  const PlannedTensor& plan_;
  std::vector<SourceTensor> parts_;
  DType to_;
  const RowReader& reader_;
  bool whole_vector_;
};

}  // namespace llm::detail::gguf
