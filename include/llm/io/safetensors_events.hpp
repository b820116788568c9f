// The JSON side of a safetensors header: the parser's events, checked one by one.
#pragma once

#include <algorithm>
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

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/safetensors_format.hpp>

namespace llm {

/// One tensor of a safetensors file. `bytes` are little-endian elements in row-major order, not necessarily aligned; they
/// live as long as the file they come from.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

namespace detail::safetensors {

/// Says which file is wrong and why.
[[noreturn]] inline void fail(const std::string& path, std::string_view reason) {
  throw FileError(concat("llm::SafetensorsFile: ", path, ": ", reason));
}

/// What a header says.
struct HeaderParts {
  struct Tensor {
    SafetensorsEntry entry;
    const ElementType* type;
  };
  /// What is held of a tensor whose name and shape are not.
  struct Place {
    std::int64_t begin, end;
    std::size_t name_hash;
    std::uint32_t number;  // among the header's tensors
  };
  std::uint64_t total_bytes = 0;                // of all tensors
  std::vector<Tensor> tensors;                  // if they are kept
  std::map<std::string, std::string> metadata;  // if kept
  std::vector<Place> places;                    // if not kept
  std::string wanted_name;                      // in place of all these, when one tensor's name is asked for
};

/// Takes the JSON parser's events for the one structure that the format allows; anything else is an error where it stands.
/// With `keep` false it checks only, and holds of each tensor a few numbers, or no more than the name of the one with the number `wanted`.
class HeaderEvents {
 public:
  HeaderEvents(JsonText& text, std::span<const std::byte> data, bool keep, std::optional<std::uint32_t> wanted = {})
      : text_(text), data_(data), keep_(keep), wanted_(wanted) {}

  HeaderParts parts;

  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("a boolean"); }
  bool number_integer(std::int64_t value) { text_.fail(concat("number ", value, " is negative")); }
  bool number_unsigned(std::uint64_t value) {
    if (at_ != At::number) unexpected("a number");
    if (value > INT64_MAX) text_.fail(concat("number ", value, " exceeds 2^63"));
    const std::size_t most = numbers_ == &offsets_ ? 2 : max_rank;
    if (numbers_->size() == most) fail_tensor(concat("has more than ", most, most == 2 ? " data_offsets" : " extents"));
    numbers_->push_back(static_cast<std::int64_t>(value));
    return next();
  }
  bool number_float(double, const std::string&) { text_.fail("a number is not an integer below 2^63"); }
  bool binary(nlohmann::json::binary_t&) { unexpected("binary data"); }
  bool string(std::string& value) {
    if (at_ == At::metadata_value) {
      if (keep_)
        parts.metadata.emplace(std::move(key_), std::move(value));
      else
        metadata_hashes_.push_back(std::hash<std::string>{}(key_));
      if (metadata_hashes_.size() > max_metadata_keys) text_.fail(concat("__metadata__ has more than ", max_metadata_keys, " keys"));
      return next(At::metadata);
    }
    if (at_ != At::dtype) unexpected("a string");
    type_ = find_element_type(value);
    if (type_ == nullptr) fail_tensor(concat("unknown dtype ", in_quotes(value)));
    return next(At::tensor);
  }
  bool start_object(std::size_t) {
    if (at_ == At::start) return next(At::top);
    if (at_ == At::metadata_open) return next(At::metadata);
    if (at_ != At::tensor_open) unexpected("an object");
    entry_.shape.clear();
    offsets_.clear();
    type_ = nullptr;
    has_shape_ = has_offsets_ = false;
    return next(At::tensor);
  }
  bool key(std::string& value) {
    if (at_ == At::metadata) {
      key_ = std::move(value);
      return next(At::metadata_value);
    }
    if (at_ == At::tensor) return next(tensor_key(value));
    if (value != metadata_key) {
      entry_.name = std::move(value);
      return next(At::tensor_open);
    }
    if (std::exchange(has_metadata_, true)) text_.fail("__metadata__ occurs twice");
    return next(At::metadata_open);
  }
  bool end_object() {
    if (at_ == At::tensor) finish_tensor();
    if (at_ == At::metadata) finish_metadata();
    return next(at_ == At::top ? At::done : At::top);
  }
  bool start_array(std::size_t) {
    if (at_ != At::array) unexpected("an array");
    return next(At::number);
  }
  bool end_array() { return next(At::tensor); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { text_.fail("the header is not valid JSON"); }

 private:
  enum class At { start, top, metadata_open, metadata, metadata_value, tensor_open, tensor, dtype, array, number, done };

  bool next() {
    text_.token_read();
    return true;
  }
  bool next(At at) {
    at_ = at;
    return next();
  }
  [[noreturn]] void unexpected(std::string_view what) const { text_.fail(concat("unexpected ", what)); }
  [[noreturn]] void fail_tensor(std::string_view reason) const { text_.fail(concat("tensor ", in_quotes(entry_.name), ": ", reason)); }

  At tensor_key(std::string_view key) {
    if (key == "dtype" && type_ == nullptr) return At::dtype;
    if (key == "shape" && !std::exchange(has_shape_, true)) {
      numbers_ = &entry_.shape;
      return At::array;
    }
    if (key == "data_offsets" && !std::exchange(has_offsets_, true)) {
      numbers_ = &offsets_;
      return At::array;
    }
    fail_tensor(concat("key ", in_quotes(key), " is unknown or occurs twice"));
  }

  /// Bytes that the tensor's shape asks for. Extents of 0 do not hide an overflow of the others.
  std::int64_t bytes_of_shape() const {
    std::int64_t bits = type_->bits;
    bool empty = false;
    for (const std::int64_t extent : entry_.shape) {
      empty = empty || extent == 0;
      if (extent != 0 && bits > INT64_MAX / extent) fail_tensor("the shape's size exceeds 2^63 bits");
      if (extent != 0) bits *= extent;
    }
    if (bits % 8 != 0) fail_tensor("the elements do not fill whole bytes");
    return empty ? 0 : bits / 8;
  }

  void finish_tensor() {
    if (type_ == nullptr || !has_shape_ || !has_offsets_) fail_tensor("needs dtype, shape and data_offsets");
    if (offsets_.size() != 2) fail_tensor(concat("has ", offsets_.size(), " data_offsets instead of 2"));
    const std::int64_t begin = offsets_[0], end = offsets_[1], expected = bytes_of_shape();
    const auto available = static_cast<std::int64_t>(data_.size());
    if (begin > end || end > available)
      fail_tensor(concat("data_offsets [", begin, ", ", end, "] do not lie in the file's ", available, " bytes of data"));
    if (end - begin != expected)
      fail_tensor(concat("data_offsets [", begin, ", ", end, "] span ", end - begin, " bytes, but its shape and dtype take ", expected));
    parts.total_bytes += static_cast<std::uint64_t>(expected);
    if (parts.total_bytes > data_.size()) fail_tensor("data_offsets overlap those of other tensors");
    if (!keep_) return note_place(begin, end);
    entry_.bytes = data_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(expected));
    parts.tensors.push_back({std::move(entry_), type_});
  }

  void note_place(std::int64_t begin, std::int64_t end) {
    if (count_ == max_tensors) text_.fail(concat("the header has more than ", max_tensors, " tensors"));
    if (!wanted_)
      parts.places.push_back({begin, end, std::hash<std::string>{}(entry_.name), count_});
    else if (count_ == *wanted_)
      parts.wanted_name = std::move(entry_.name);
    ++count_;
  }

  void finish_metadata() {
    std::sort(metadata_hashes_.begin(), metadata_hashes_.end());
    if (std::adjacent_find(metadata_hashes_.begin(), metadata_hashes_.end()) != metadata_hashes_.end())
      text_.fail("a metadata key occurs twice");
  }

  JsonText& text_;
  std::span<const std::byte> data_;
  bool keep_;
  std::optional<std::uint32_t> wanted_;
  std::uint32_t count_ = 0;  // without keep: of tensors
  At at_ = At::start;
  std::string key_;
  SafetensorsEntry entry_;
  std::vector<std::size_t> metadata_hashes_;  // without keep
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t>* numbers_ = nullptr;
  const ElementType* type_ = nullptr;
  bool has_metadata_ = false, has_shape_ = false, has_offsets_ = false;
};

}  // namespace detail::safetensors
}  // namespace llm
