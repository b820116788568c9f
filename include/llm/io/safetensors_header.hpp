// Reads the header of a safetensors file and checks it completely before any of the data is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/little_endian.hpp>
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

/// The length of the header, checked against the file before anything is read by it.
inline std::size_t header_length(const std::string& path, std::span<const std::byte> file) {
  if (file.size() < 8) fail(path, concat("is ", file.size(), " bytes long, too short for the header's length"));
  const std::uint64_t length = little_endian(file.first(8));
  if (length > max_header_bytes) fail(path, concat("header length ", length, " exceeds the format's limit of ", max_header_bytes));
  if (length > file.size() - 8) fail(path, concat("header length ", length, " exceeds the ", file.size() - 8, " bytes that follow"));
  if (length < 2 || file[8] != std::byte{'{'}) fail(path, "the header is no JSON object");
  return static_cast<std::size_t>(length);
}

/// A header's text and the data behind it, which may be parsed again and again.
class Header {
 public:
  Header(const std::string& path, std::span<const std::byte> file, ReleasePages release)
      : path_(path), text_(file.subspan(8, header_length(path, file))), data_(file.subspan(8 + text_.size())), release_(release) {}

  /// Checks everything. Keeps next to nothing, so that a bad file costs little memory.
  void check() const {
    HeaderParts parts = parse(false);
    if (parts.total_bytes != data_.size())
      fail(path_, concat("the tensors take ", parts.total_bytes, " bytes, the file has ", data_.size(), " bytes of data"));
    check_coverage(parts.places);
    check_names(parts.places);
  }

  /// The tensors of a header that is known to be good, in the order of the data, and its metadata.
  HeaderParts read() const {
    HeaderParts parts = parse(true);
    const auto position = [&](const HeaderParts::Tensor& t) {
      return std::pair(t.entry.bytes.data() - data_.data(), t.entry.bytes.size());
    };
    std::sort(parts.tensors.begin(), parts.tensors.end(), [&](const auto& a, const auto& b) { return position(a) < position(b); });
    return parts;
  }

 private:
  HeaderParts parse(bool keep, std::optional<std::uint32_t> wanted = {}) const {
    JsonText text(concat("llm::SafetensorsFile: ", path_), "header", text_, release_);
    HeaderEvents events(text, data_, keep, wanted);
    if (!keep && !wanted) events.parts.places.reserve((std::min)(max_tensors, text_.size() / min_tensor_bytes));
    nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    return std::move(events.parts);
  }

  /// For a message.
  std::string name_of(const HeaderParts::Place& place) const { return in_quotes(parse(false, place.number).wanted_name); }

  /// Tensors must cover the data without gap or overlap; their sizes are known to sum up.
  void check_coverage(std::vector<HeaderParts::Place>& places) const {
    std::sort(places.begin(), places.end(),
              [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::int64_t covered = 0;
    for (const auto& place : places) {
      if (place.begin != covered)
        fail(path_,
             concat("tensor ", name_of(place), ": data_offsets begin at ", place.begin, " where the tensor before ends at ", covered));
      covered = place.end;
    }
  }

  void check_names(std::vector<HeaderParts::Place>& places) const {
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.name_hash < b.name_hash; });
    const auto twice =
        std::adjacent_find(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.name_hash == b.name_hash; });
    if (twice != places.end()) fail(path_, concat("tensor ", name_of(*twice), " occurs twice"));
  }

  const std::string& path_;
  std::span<const std::byte> text_, data_;
  ReleasePages release_;
};

}  // namespace detail::safetensors

/// Reads and checks the header of a file that lies in memory; the entries' bytes point into `file`. `path` is for messages.
/// Throws FileError. The header is read twice, the first time keeping next to nothing: a bad file costs little memory.
inline SafetensorsIndex parse_safetensors(std::span<const std::byte> file, const std::string& path,
                                          detail::ReleasePages release = nullptr) {
  const detail::safetensors::Header header(path, file, release);
  header.check();
  detail::safetensors::HeaderParts parts = header.read();
  SafetensorsIndex index;
  index.metadata = std::move(parts.metadata);
  for (auto& [entry, type] : parts.tensors) {
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
