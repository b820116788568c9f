// The index of a model in several safetensors files: which file holds which tensor (model.safetensors.index.json).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/mapped_file.hpp>

namespace llm {

/// What an index says: the files, by name without a folder, in the order of their first tensor, and for each tensor, in the index's order,
/// its name and the place of its file in `files`.
struct SafetensorsShards {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::size_t>> tensors;
  std::optional<std::int64_t> total_size;  // bytes of all tensors, where the index says it
};

namespace detail::safetensors_index {

// The largest published indices have some 150,000 tensors in 15 MB.
inline constexpr std::size_t max_bytes = std::size_t{1} << 26;
inline constexpr std::size_t max_tensors = std::size_t{1} << 19;
inline constexpr std::size_t max_tensor_name = 4096;
inline constexpr std::size_t max_file_name = 255;
inline constexpr std::size_t max_depth = 16;  // of metadata

/// Whether it is a name that stays in the index's folder, on any system.
inline bool is_plain_file_name(std::string_view name) {
  constexpr std::string_view suffix = ".safetensors";
  if (name.size() <= suffix.size() || name.size() > max_file_name || !name.ends_with(suffix) || name.front() == '.') return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || std::string_view("/\\:*?\"<>|").find(c) != std::string_view::npos;
  });
}

/// Takes the JSON parser's events for the one structure that an index has. With `keep` false it checks only: of each name it holds a hash.
class Events {
 public:
  Events(JsonText& text, bool keep) : text_(text), keep_(keep) {}

  SafetensorsShards shards;

  bool null() { return other("null"); }
  bool boolean(bool) { return other("a boolean"); }
  bool number_integer(std::int64_t value) { return number(static_cast<double>(value), 0); }
  bool number_unsigned(std::uint64_t value) { return number(static_cast<double>(value), value); }
  bool number_float(double value, const std::string&) {
    const bool whole = value >= 0.0 && value < 0x1p53 && value == std::floor(value);
    return number(value, whole ? static_cast<std::uint64_t>(value) : UINT64_MAX);
  }
  bool binary(nlohmann::json::binary_t&) { text_.fail("unexpected binary data"); }
  bool string(std::string& value) { return at_ == At::file ? add(value) : other("a string"); }
  bool start_object(std::size_t) { return open("an object"); }
  bool start_array(std::size_t) { return open("an array"); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    text_.token_read();
    if (depth_ == 1) {
      section(name);
    } else if (at_ == At::tensors) {
      if (name.empty() || name.size() > max_tensor_name) text_.fail(concat("weight_map: a tensor's name has ", name.size(), " bytes"));
      name_ = std::move(name);
      at_ = At::file;
    } else if (depth_ == 2 && name == "total_size") {
      if (std::exchange(has_total_, true)) text_.fail("metadata.total_size occurs twice");
      at_ = At::total;
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { text_.fail("is not valid JSON"); }

  /// After the parse: whether all is there, and nothing twice.
  void finish() {
    if (!has_map_) text_.fail("has no weight_map");
    if (count_ == 0) text_.fail("weight_map names no tensors");
    std::sort(hashes_.begin(), hashes_.end());
    if (std::adjacent_find(hashes_.begin(), hashes_.end()) != hashes_.end()) text_.fail("weight_map names a tensor twice");
  }

 private:
  enum class At { top, metadata, total, map, tensors, file };

  void section(const std::string& name) {
    if (name == "metadata") {
      if (std::exchange(has_metadata_, true)) text_.fail("metadata occurs twice");
      at_ = At::metadata;
    } else if (name == "weight_map") {
      if (std::exchange(has_map_, true)) text_.fail("weight_map occurs twice");
      at_ = At::map;
    } else {
      text_.fail(concat("key ", in_quotes(name), " is unknown, expected metadata and weight_map"));
    }
  }

  bool number(double shown, std::uint64_t value) {
    if (at_ != At::total) return other("a number");
    if (value > INT64_MAX || shown < 0.0) text_.fail(concat("metadata.total_size is ", shown, ", expected a whole number of bytes"));
    shards.total_size = static_cast<std::int64_t>(value);
    at_ = At::metadata;
    text_.token_read();
    return true;
  }

  /// A value that only the rest of metadata may have.
  bool other(std::string_view what) {
    if (at_ != At::metadata || depth_ < 2) text_.fail(concat("unexpected ", what));
    text_.token_read();
    return true;
  }

  bool open(std::string_view what) {
    const bool array = what == "an array";
    const bool fits = depth_ == 0 ? !array : at_ == At::metadata ? depth_ > 1 || !array : at_ == At::map && !array;
    if (!fits) text_.fail(concat("unexpected ", what));
    if (++depth_ > max_depth) text_.fail(concat("metadata is nested deeper than ", max_depth, " levels"));
    if (at_ == At::map) at_ = At::tensors;
    text_.token_read();
    return true;
  }

  bool close() {
    if (--depth_ == 1) at_ = At::top;
    text_.token_read();
    return true;
  }

  bool add(const std::string& file) {
    if (!is_plain_file_name(file))
      text_.fail(
          concat("tensor ", in_quotes(name_), ": ", in_quotes(file), " is no plain name of a .safetensors file in the index's folder"));
    if (++count_ > max_tensors) text_.fail(concat("weight_map has more than ", max_tensors, " tensors"));
    at_ = At::tensors;
    text_.token_read();
    if (keep_) {
      const auto [place, added] = places_.try_emplace(file, shards.files.size());
      if (added) shards.files.push_back(file);
      shards.tensors.emplace_back(std::move(name_), place->second);
    } else {
      hashes_.push_back(std::hash<std::string>{}(name_));
    }
    return true;
  }

  JsonText& text_;
  bool keep_;
  At at_ = At::top;
  std::string name_;
  std::vector<std::size_t> hashes_;
  std::map<std::string, std::size_t> places_;
  std::size_t depth_ = 0, count_ = 0;
  bool has_metadata_ = false, has_map_ = false, has_total_ = false;
};

}  // namespace detail::safetensors_index

/// The index that lies in memory; `path` names it in errors. It is read twice, the first time without keeping names, so that a bad one
/// costs little memory. Throws FileError when it is larger than 64 MiB, breaks the format, names more than 524,288 tensors or one twice,
/// or a file that is not simply a file of its folder. Whether the files are there and hold what it says is not checked.
inline SafetensorsShards parse_safetensors_index(std::span<const std::byte> file, const std::string& path,
                                                 detail::ReleasePages release = nullptr) {
  namespace index = detail::safetensors_index;
  const std::string where = detail::concat("llm::read_safetensors_index: ", path);
  if (file.size() > index::max_bytes)
    throw FileError(detail::concat(where, ": is ", file.size(), " bytes long, more than the limit of ", index::max_bytes));
  SafetensorsShards shards;
  for (const bool keep : {false, true}) {
    detail::JsonText text(where, "file", file, release);
    index::Events events(text, keep);
    nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    events.finish();
    shards = std::move(events.shards);
  }
  return shards;
}

/// The same of a file: the path of its model.safetensors.index.json. Throws FileError also when it cannot be read.
inline SafetensorsShards read_safetensors_index(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return parse_safetensors_index(file.bytes(), path, detail::os::release_pages);
}

}  // namespace llm
