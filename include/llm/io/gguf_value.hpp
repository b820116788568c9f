// Metadata values of a GGUF file as views into it, arrays included: a vocabulary is read where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_cursor.hpp>
#include <llm/io/gguf_format.hpp>

namespace llm {

class GgufArray;

/// A metadata value: a type and the bytes of the file that hold it, valid as long as the file is open. Each accessor gives nothing
/// where the value is of another kind.
class GgufValue {
 public:
  /// For the parser, which has checked the bytes.
  GgufValue(GgufType type, std::span<const std::byte> bytes) : type_(type), bytes_(bytes) {}

  GgufType type() const { return type_; }
  /// The value as the file holds it: what a copy of it needs.
  std::span<const std::byte> bytes() const { return bytes_; }
  bool is_integer() const { return type_ <= GgufType::i32 || type_ == GgufType::u64 || type_ == GgufType::i64; }

  /// Any integer type, where the value is below 2^63.
  std::optional<std::int64_t> integer() const {
    switch (type_) {
      case GgufType::u8:
        return load<std::uint8_t>();
      case GgufType::i8:
        return load<std::int8_t>();
      case GgufType::u16:
        return load<std::uint16_t>();
      case GgufType::i16:
        return load<std::int16_t>();
      case GgufType::u32:
        return load<std::uint32_t>();
      case GgufType::i32:
        return load<std::int32_t>();
      case GgufType::i64:
        return load<std::int64_t>();
      case GgufType::u64: {
        const auto value = load<std::uint64_t>();
        if (value <= INT64_MAX) return static_cast<std::int64_t>(value);
        return {};
      }
      default:
        return {};
    }
  }
  /// f32 and f64.
  std::optional<double> floating() const {
    if (type_ == GgufType::f32) return static_cast<double>(load<float>());
    if (type_ == GgufType::f64) return load<double>();
    return {};
  }
  std::optional<bool> boolean() const {
    if (type_ != GgufType::boolean) return {};
    return load<std::uint8_t>() != 0;
  }
  /// A string's bytes: UTF-8 by the format, which nobody has checked.
  std::optional<std::string_view> text() const {
    if (type_ != GgufType::string) return {};
    const auto content = bytes_.subspan(8);
    return std::string_view(reinterpret_cast<const char*>(content.data()), content.size());
  }
  /// Keep the result while walking it: a loop over `*value.array()` itself would outlive it.
  std::optional<GgufArray> array() const;

 private:
  template <class T>
  T load() const {
    return detail::gguf::load<T>(bytes_);
  }

  GgufType type_;
  std::span<const std::byte> bytes_;
};

/// An array of metadata values, read from the file as it is walked; nothing is copied. Elements may be arrays again.
class GgufArray {
 public:
  /// For GgufValue: the type of the elements, their number and their bytes, all checked.
  GgufArray(GgufType element_type, std::uint64_t size, std::span<const std::byte> bytes)
      : element_type_(element_type), size_(size), bytes_(bytes) {}

  GgufType element_type() const { return element_type_; }
  std::int64_t size() const { return static_cast<std::int64_t>(size_); }

  /// Walks the elements as GgufValue.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = GgufValue;
    using difference_type = std::ptrdiff_t;
    using pointer = const GgufValue*;
    using reference = GgufValue;

    iterator(GgufType type, std::uint64_t at, std::uint64_t end, std::span<const std::byte> rest)
        : type_(type), at_(at), end_(end), rest_(rest), size_(size_of_first()) {}
    GgufValue operator*() const { return {type_, rest_.first(size_)}; }
    iterator& operator++() {
      rest_ = rest_.subspan(size_);
      ++at_;
      size_ = size_of_first();
      return *this;
    }
    iterator operator++(int) {
      iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    std::size_t size_of_first() const {
      if (at_ == end_) return 0;
      const std::string none;
      detail::gguf::Cursor cursor(rest_, none);
      detail::gguf::skip_value(cursor, type_, "element");
      return cursor.position();
    }

    GgufType type_;
    std::uint64_t at_, end_;
    std::span<const std::byte> rest_;
    std::size_t size_;
  };

  /// Element i of an array of numbers or bools, without a walk. Throws ValueError for another array, or i outside of it.
  GgufValue at(std::int64_t i) const {
    const std::size_t bytes = detail::gguf::type_bytes(element_type_);
    if (bytes == 0) wrong("at", "of a fixed size");
    if (i < 0 || i >= size()) throw ValueError(detail::concat("llm::GgufArray::at: ", i, " is outside the ", size_, " elements"));
    return {element_type_, bytes_.subspan(static_cast<std::size_t>(i) * bytes, bytes)};
  }
  /// Where the elements lie in the file.
  std::span<const std::byte> bytes() const { return bytes_; }

  iterator begin() const { return {element_type_, 0, size_, bytes_}; }
  iterator end() const { return {element_type_, size_, size_, {}}; }

  /// The elements of an array of strings, as views into the file. Throws ValueError for another array.
  std::vector<std::string_view> strings() const {
    if (element_type_ != GgufType::string) wrong("strings", "string");
    std::vector<std::string_view> all;
    all.reserve(static_cast<std::size_t>(size_));
    for (const GgufValue element : *this) all.push_back(*element.text());
    return all;
  }
  /// The elements of an array of any integer type. Throws ValueError for another array, or an element of 2^63 or more.
  std::vector<std::int64_t> integers() const {
    std::vector<std::int64_t> all;
    all.reserve(is_integer() ? static_cast<std::size_t>(size_) : 0);
    for (const GgufValue element : *this) {
      const auto value = element.integer();
      if (!value) wrong("integers", "integer below 2^63");
      all.push_back(*value);
    }
    return all;
  }
  /// The elements of an array of f32 or f64. Throws ValueError for another array.
  std::vector<double> numbers() const {
    if (element_type_ != GgufType::f32 && element_type_ != GgufType::f64) wrong("numbers", "f32 or f64");
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(size_));
    for (const GgufValue element : *this) all.push_back(*element.floating());
    return all;
  }

 private:
  bool is_integer() const { return GgufValue(element_type_, {}).is_integer(); }
  [[noreturn]] void wrong(std::string_view function, std::string_view wanted) const {
    throw ValueError(detail::concat("llm::GgufArray::", function, ": the array has elements of type ", to_string(element_type_),
                                    ", not every one is ", wanted));
  }

  GgufType element_type_;
  std::uint64_t size_;
  std::span<const std::byte> bytes_;
};

inline std::optional<GgufArray> GgufValue::array() const {
  if (type_ != GgufType::array) return {};
  const std::string none;
  detail::gguf::Cursor cursor(bytes_, none);
  const GgufType element_type = cursor.type("array");
  const auto size = cursor.number<std::uint64_t>("array");
  return GgufArray(element_type, size, bytes_.subspan(cursor.position()));
}

}  // namespace llm
