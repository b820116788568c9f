// Writes safetensors files, each in one atomic step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/shape.hpp>
#include <llm/io/atomic_file.hpp>
#include <llm/io/safetensors_format.hpp>

namespace llm {

/// What the header of a safetensors file says of a tensor.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

/// A tensor for write_safetensors(): row-major elements, which must stay alive until it returns.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

namespace detail::safetensors {

/// A JSON string literal. Throws ValueError when the text is not valid UTF-8 or longer than a reader accepts.
inline std::string json_string(const std::string& text) {
  try {
    std::string literal = nlohmann::json(text).dump();
    if (literal.size() > max_string_bytes)
      throw ValueError(concat("llm::write_safetensors: ", in_quotes(text), " is longer than 1 MiB (hint: store it as a U8 tensor)"));
    return literal;
  } catch (const nlohmann::json::exception&) {
    throw ValueError(concat("llm::write_safetensors: ", in_quotes(text), " is not valid UTF-8"));
  }
}

[[noreturn]] inline void refuse_tensor(std::string_view name, std::string_view reason) {
  throw ValueError(concat("llm::write_safetensors: tensor ", in_quotes(name), ": ", reason));
}

/// Bytes of a tensor's data, once name, type and shape are known to fit the format.
inline std::uint64_t checked_bytes(const SafetensorsTensor& tensor) {
  const auto fail = [&](const std::string& reason) { refuse_tensor(tensor.name, reason); };
  if (tensor.name == metadata_key) fail("the format reserves this name");
  if (find_element_type(tensor.dtype) == nullptr) fail(concat("the format has no type for ", to_string(tensor.dtype)));
  if (tensor.shape.size() > max_rank) fail(concat("rank ", tensor.shape.size(), " exceeds ", max_rank));
  for (const std::int64_t extent : tensor.shape)
    if (extent < 0) fail(concat("extent ", extent, " is negative"));
  const std::int64_t count = checked_elements(tensor.shape, 8 * block_format(tensor.dtype).bytes);
  return static_cast<std::uint64_t>(storage_bytes(tensor.dtype, count));
}

/// The order of the data: wide elements first, so that every tensor is aligned to its element size; equal ones as given.
inline std::vector<const TensorToWrite*> data_order(std::span<const TensorToWrite> tensors) {
  std::vector<const TensorToWrite*> order;
  for (const std::int64_t width : {8, 4, 2, 1})
    for (const TensorToWrite& tensor : tensors)
      if (block_format(tensor.dtype).bytes == width) order.push_back(&tensor);
  return order;
}

/// What the reader would refuse is not written.
inline void check_counts(std::size_t tensors, std::size_t metadata_keys) {
  const auto check = [](std::size_t count, std::size_t most, std::string_view what) {
    if (count > most) throw ValueError(concat("llm::write_safetensors: ", count, " ", what, " are more than the limit of ", most));
  };
  check(tensors, max_tensors, "tensors");
  check(metadata_keys, max_metadata_keys, "keys of metadata");
}

inline void check_unique_names(std::span<const SafetensorsTensor> tensors) {
  std::vector<std::string_view> names;
  for (const SafetensorsTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw ValueError(concat("llm::write_safetensors: tensor ", in_quotes(*twice), " occurs twice"));
}

/// The eight bytes of the header's length and the header, padded with spaces so that the data starts at a multiple of 8.
inline std::string header(std::span<const SafetensorsTensor> tensors, const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    json += concat("\"", metadata_key, "\":{");
    for (const auto& [key, value] : metadata) json += concat(json.back() == '{' ? "" : ",", json_string(key), ":", json_string(value));
    json += "}";
  }
  std::uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::uint64_t bytes = checked_bytes(tensor);
    if (offset % static_cast<std::uint64_t>(block_format(tensor.dtype).bytes) != 0)
      refuse_tensor(tensor.name, "its data would be misaligned (hint: tensors of wide element types come first)");
    json += concat(json.size() == 1 ? "" : ",", json_string(tensor.name), ":{\"dtype\":\"", find_element_type(tensor.dtype)->name,
                   "\",\"shape\":[");
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) json += concat(i == 0 ? "" : ",", tensor.shape[i]);
    json += concat("],\"data_offsets\":[", offset, ",", offset + bytes, "]}");
    offset += bytes;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > max_header_bytes)
    throw ValueError(concat("llm::write_safetensors: the header takes ", json.size(), " bytes, more than the format's ", max_header_bytes));
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return length + json;
}

}  // namespace detail::safetensors

/// Writes a safetensors file piece by piece: first the header, then the tensors' bytes in the order in which they were given. The file
/// replaces `path` in one step (see AtomicFile); what is not committed leaves the old one untouched. Move-only.
class SafetensorsWriter {
 public:
  /// The wide element types must come first, so that all data is aligned. Throws ValueError or ShapeError, before anything is written, when
  /// a tensor's name or shape or the metadata do not fit the format, FileError when the system fails.
  SafetensorsWriter(const std::string& path, std::span<const SafetensorsTensor> tensors,
                    const std::map<std::string, std::string>& metadata = {})
      : SafetensorsWriter(path, header_of(tensors, metadata)) {
    for (const SafetensorsTensor& tensor : tensors) left_ += detail::safetensors::checked_bytes(tensor);
  }

  /// Appends data. Throws ValueError when there is more than the tensors have.
  void write(std::span<const std::byte> bytes) {
    if (bytes.size() > left_)
      throw ValueError(detail::concat("llm::SafetensorsWriter: ", file_.path(), ": more bytes than the tensors have"));
    file_.write(bytes);
    left_ -= bytes.size();
  }
  /// Throws ValueError when bytes are missing, FileError when the system fails.
  void commit() {
    if (left_ > 0) throw ValueError(detail::concat("llm::SafetensorsWriter: ", file_.path(), ": ", left_, " bytes of tensors are missing"));
    file_.commit();
  }

 private:
  SafetensorsWriter(const std::string& path, const std::string& header) : file_(path) { file_.write(header); }

  static std::string header_of(std::span<const SafetensorsTensor> tensors, const std::map<std::string, std::string>& metadata) {
    namespace st = detail::safetensors;
    st::check_counts(tensors.size(), metadata.size());
    st::check_unique_names(tensors);
    return st::header(tensors, metadata);
  }

  AtomicFile file_;
  std::uint64_t left_ = 0;
};

/// Writes a safetensors file that replaces `path` in one step (see AtomicFile): on any error the old file is untouched.
/// Throws ValueError or ShapeError, before anything is written, when a tensor's name, shape, bytes or the metadata do not
/// fit the format, and FileError when the system fails.
inline void write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  namespace st = detail::safetensors;
  std::vector<SafetensorsTensor> headers;
  for (const TensorToWrite* tensor : st::data_order(tensors)) headers.push_back({tensor->name, tensor->dtype, tensor->shape});
  for (const TensorToWrite& tensor : tensors)
    if (const std::uint64_t bytes = st::checked_bytes({tensor.name, tensor.dtype, tensor.shape}); bytes != tensor.bytes.size())
      st::refuse_tensor(tensor.name, detail::concat("has ", tensor.bytes.size(), " bytes, but its shape and dtype take ", bytes));
  SafetensorsWriter file(path, headers, metadata);
  for (const TensorToWrite* tensor : st::data_order(tensors)) file.write(tensor->bytes);
  file.commit();
}

}  // namespace llm
