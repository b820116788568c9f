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

inline void check_tensor(const TensorToWrite& tensor) {
  const auto fail = [&](const std::string& reason) {
    throw ValueError(concat("llm::write_safetensors: tensor ", in_quotes(tensor.name), ": ", reason));
  };
  if (tensor.name == metadata_key) fail("the format reserves this name");
  if (find_element_type(tensor.dtype) == nullptr) fail(concat("the format has no type for ", to_string(tensor.dtype)));
  if (tensor.shape.size() > max_rank) fail(concat("rank ", tensor.shape.size(), " exceeds ", max_rank));
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0) fail(concat("extent ", extent, " is negative"));
    count = checked_product(count, extent);
  }
  if (storage_bytes(tensor.dtype, count) != static_cast<std::int64_t>(tensor.bytes.size()))
    fail(concat("has ", tensor.bytes.size(), " bytes, but its shape and dtype take ", storage_bytes(tensor.dtype, count)));
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

inline void check_unique_names(std::span<const TensorToWrite> tensors) {
  std::vector<std::string_view> names;
  for (const TensorToWrite& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw ValueError(concat("llm::write_safetensors: tensor ", in_quotes(*twice), " occurs twice"));
}

/// The eight bytes of the header's length and the header, padded with spaces so that the data starts at a multiple of 8.
inline std::string header(std::span<const TensorToWrite* const> order, const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    json += concat("\"", metadata_key, "\":{");
    for (const auto& [key, value] : metadata) json += concat(json.back() == '{' ? "" : ",", json_string(key), ":", json_string(value));
    json += "}";
  }
  std::uint64_t offset = 0;
  for (const TensorToWrite* tensor : order) {
    json += concat(json.size() == 1 ? "" : ",", json_string(tensor->name), ":{\"dtype\":\"", find_element_type(tensor->dtype)->name,
                   "\",\"shape\":[");
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) json += concat(i == 0 ? "" : ",", tensor->shape[i]);
    json += concat("],\"data_offsets\":[", offset, ",", offset + tensor->bytes.size(), "]}");
    offset += tensor->bytes.size();
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

/// Writes a safetensors file that replaces `path` in one step (see AtomicFile): on any error the old file is untouched.
/// Throws ValueError or ShapeError, before anything is written, when a tensor's name, shape, bytes or the metadata do not
/// fit the format, and FileError when the system fails.
inline void write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  namespace st = detail::safetensors;
  for (const TensorToWrite& tensor : tensors) st::check_tensor(tensor);
  st::check_counts(tensors.size(), metadata.size());
  st::check_unique_names(tensors);
  const auto order = st::data_order(tensors);
  const std::string header = st::header(order, metadata);
  AtomicFile file(path);
  file.write(header);
  for (const TensorToWrite* tensor : order) file.write(tensor->bytes);
  file.commit();
}

}  // namespace llm
