// Reads a GGUF file's values one after the other, each length checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/gguf_format.hpp>
#include <llm/io/little_endian.hpp>
#include <llm/io/page_release.hpp>

namespace llm::detail::gguf {

/// Reads little-endian values one after the other; reading past the end is an error that says what was to be read, and where.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& path, ReleasePages release = nullptr)
      : bytes_(bytes), path_(&path), release_(bytes.data(), release) {}

  std::size_t position() const { return position_; }
  void restart() {
    position_ = 0;
    release_.restart();
  }
  std::uint64_t left() const { return bytes_.size() - position_; }
  std::span<const std::byte> since(std::size_t start) const { return bytes_.subspan(start, position_ - start); }
  [[noreturn]] void fail(std::string_view reason) const { gguf::fail(*path_, concat(reason, " (at byte ", position_, ")")); }

  /// The next `count` bytes, which are passed without being touched.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > left()) fail(concat(what, " takes ", count, " bytes, ", left(), " are left"));
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    release_.passed(position_);
    return taken;
  }
  template <class Unsigned>
  Unsigned number(std::string_view what) {
    return static_cast<Unsigned>(little_endian(take(sizeof(Unsigned), what)));
  }
  std::string_view text(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const auto taken = take(length, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  GgufType type(std::string_view what) {
    const auto number_of_type = number<std::uint32_t>(what);
    if (number_of_type >= type_count) fail(concat(what, " has the unknown type ", number_of_type));
    return static_cast<GgufType>(number_of_type);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string* path_;
  PageRelease release_;
  std::size_t position_ = 0;
};

/// Passes a value, checking everything about it: lengths, types of elements, depth, and that a bool is 0 or 1.
inline void skip_value(Cursor& cursor, GgufType type, std::string_view what, int depth = 0) {
  if (type == GgufType::string) {
    cursor.text(what);
  } else if (type == GgufType::boolean) {
    if (cursor.number<std::uint8_t>(what) > 1) cursor.fail(concat(what, " is a bool that is neither 0 nor 1"));
  } else if (type != GgufType::array) {
    cursor.take(type_bytes(type), what);
  } else {
    if (depth == max_array_depth) cursor.fail(concat(what, " has arrays within arrays, more than ", max_array_depth, " deep"));
    const GgufType element = cursor.type(what);
    const auto count = cursor.number<std::uint64_t>(what);
    if (count > cursor.left() / min_type_bytes(element))
      cursor.fail(concat(what, " is an array of ", count, " ", to_string(element), " values, ", cursor.left(), " bytes are left"));
    if (type_bytes(element) != 0 && element != GgufType::boolean) {
      cursor.take(count * type_bytes(element), what);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) skip_value(cursor, element, what, depth + 1);
  }
}

/// One fixed-size value, from its bytes.
template <class T>
T load(std::span<const std::byte> bytes) {
  const std::string none;
  Cursor cursor(bytes, none);
  if constexpr (sizeof(T) == 1)
    return static_cast<T>(cursor.number<std::uint8_t>("value"));
  else if constexpr (sizeof(T) == 2)
    return bit_cast<T>(cursor.number<std::uint16_t>("value"));
  else if constexpr (sizeof(T) == 4)
    return bit_cast<T>(cursor.number<std::uint32_t>("value"));
  else
    return bit_cast<T>(cursor.number<std::uint64_t>("value"));
}

}  // namespace llm::detail::gguf
