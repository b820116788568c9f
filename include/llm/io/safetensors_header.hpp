// Reads the header of a safetensors file and checks it completely before any of the data is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/safetensors_events.hpp>
#include <llm/io/safetensors_format.hpp>

namespace llm {

/// A tensor whose element type the format knows and the library does not (F8_E4M3, I16, BOOL, ...).
struct UnsupportedSafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::size_t size = 0;  // in bytes
};

/// What a safetensors file holds, in the order of the data.
struct SafetensorsIndex {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> tensors;
  std::vector<UnsupportedSafetensorsEntry> unsupported;
};

namespace detail::safetensors {

/// Sorts the tensors by position. They must cover the data without gap or overlap; their sizes are known to sum up.
inline void check_coverage(const std::string& path, std::vector<HeaderEvents::Tensor>& tensors, std::span<const std::byte> data) {
  const auto position = [&](const HeaderEvents::Tensor& t) { return std::pair(t.entry.bytes.data() - data.data(), t.entry.bytes.size()); };
  std::sort(tensors.begin(), tensors.end(), [&](const auto& a, const auto& b) { return position(a) < position(b); });
  std::ptrdiff_t covered = 0;
  for (const auto& tensor : tensors) {
    const auto [begin, size] = position(tensor);
    if (begin != covered)
      fail(path, concat("tensor ", in_quotes(tensor.entry.name), ": data_offsets begin at ", begin, " where the tensor before ends at ",
                        covered));
    covered += static_cast<std::ptrdiff_t>(size);
  }
}

inline void check_names(const std::string& path, const std::vector<HeaderEvents::Tensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const auto& tensor : tensors) names.push_back(tensor.entry.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail(path, concat("tensor ", in_quotes(*twice), " occurs twice"));
}

/// The length of the header, checked against the file before anything is read by it.
inline std::size_t header_length(const std::string& path, std::span<const std::byte> file) {
  if (file.size() < 8) fail(path, concat("is ", file.size(), " bytes long, too short for the header's length"));
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (length > max_header_bytes) fail(path, concat("header length ", length, " exceeds the format's limit of ", max_header_bytes));
  if (length > file.size() - 8) fail(path, concat("header length ", length, " exceeds the ", file.size() - 8, " bytes that follow"));
  if (length < 2 || file[8] != std::byte{'{'}) fail(path, "the header is no JSON object");
  return static_cast<std::size_t>(length);
}

}  // namespace detail::safetensors

/// Reads and checks the header of a file that lies in memory; the entries' bytes point into `file`. `path` is for messages.
/// Throws FileError. The header is read twice, the first time without keeping anything: a bad file costs next to no memory.
inline SafetensorsIndex parse_safetensors(std::span<const std::byte> file, const std::string& path,
                                          detail::ReleasePages release = nullptr) {
  namespace st = detail::safetensors;
  const std::size_t length = st::header_length(path, file);
  const auto data = file.subspan(8 + length);
  std::vector<st::HeaderEvents::Tensor> tensors;
  SafetensorsIndex index;
  for (const bool keep : {false, true}) {
    detail::JsonText text(detail::concat("llm::SafetensorsFile: ", path), "header", file.subspan(8, length), release);
    st::HeaderEvents events(text, data, keep);
    nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    if (events.total_bytes() != data.size())
      st::fail(path, detail::concat("the tensors take ", events.total_bytes(), " bytes, the file has ", data.size(), " bytes of data"));
    tensors = std::move(events.tensors);
    index.metadata = std::move(events.metadata);
  }
  st::check_coverage(path, tensors, data);
  st::check_names(path, tensors);
  for (auto& [entry, type] : tensors) {
    if (type->dtype) {
      entry.dtype = *type->dtype;
      index.tensors.push_back(std::move(entry));
    } else {
      index.unsupported.push_back({std::move(entry.name), std::string(type->name), std::move(entry.shape), entry.bytes.size()});
    }
  }
  return index;
}

}  // namespace llm
