// The rows of a GGUF file's tensors, made of those of a model's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/gguf_plan.hpp>

namespace llm::detail::gguf {

/// A source tensor with the format of its elements.
struct SourceTensor {
  const FoundTensor* tensor = nullptr;
  DType dtype = DType::f32;

  std::int64_t columns() const { return tensor->shape.empty() ? 1 : tensor->shape.back(); }
};

/// Makes the rows of one planned tensor.
class RowMaker {
 public:
  RowMaker(const PlannedTensor& plan, std::vector<SourceTensor> parts, DType to) : plan_(plan), parts_(std::move(parts)), to_(to) {}

  std::int64_t columns() const { return plan_.columns(); }
  std::int64_t rows() const { return plan_.rows(); }
  bool transposed() const { return plan_.parts.front().transposed; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(storage_bytes(to_, columns())); }

  /// Writes row r to out and adds to the sums.
  void make(std::int64_t r, std::byte* out, double& squared_error, double& squared_sum) const {
    const auto [part, row] = plan_.origin(r);
    const SourceTensor& source = parts_[part];
    if (source.dtype == to_ && !transposed()) {
      std::memcpy(out, source.tensor->bytes.data() + static_cast<std::size_t>(row) * row_bytes(), row_bytes());
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
  void read(const SourceTensor& source, std::int64_t row, float* out) const {
    const std::byte* bytes = source.tensor->bytes.data();
    if (!transposed()) {
      dequantize_row(source.dtype, bytes + static_cast<std::size_t>(row * storage_bytes(source.dtype, columns())), out, columns());
      return;
    }
    const std::int64_t width = source.columns();  // a column of a matrix of plain elements
    for (std::int64_t i = 0; i < columns(); ++i)
      dequantize_row(source.dtype, bytes + static_cast<std::size_t>(storage_bytes(source.dtype, i * width + row)), out + i, 1);
  }

  const PlannedTensor& plan_;
  std::vector<SourceTensor> parts_;
  DType to_;
};

}  // namespace llm::detail::gguf
