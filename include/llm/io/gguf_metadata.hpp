// Metadata of a GGUF file to be written: keys and values of every type the format has, nested arrays included.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_format.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/gguf_value.hpp>

namespace llm {

namespace detail::gguf {

/// Adds a number's bytes, the lowest first.
template <class T>
void append_number(std::string& out, T value) {
  using Bits = std::conditional_t<
      sizeof(T) == 8, std::uint64_t,
      std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  const auto bits = static_cast<std::uint64_t>(std::bit_cast<Bits>(value));
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(bits >> (8 * i) & 255);
}
inline void append_text(std::string& out, std::string_view text) {
  append_number(out, std::uint64_t{text.size()});
  out += text;
}

template <class T>
inline constexpr GgufType scalar_type = GgufType::array;  // of no scalar
template <>
inline constexpr GgufType scalar_type<std::uint8_t> = GgufType::u8;
template <>
inline constexpr GgufType scalar_type<std::int8_t> = GgufType::i8;
template <>
inline constexpr GgufType scalar_type<std::uint16_t> = GgufType::u16;
template <>
inline constexpr GgufType scalar_type<std::int16_t> = GgufType::i16;
template <>
inline constexpr GgufType scalar_type<std::uint32_t> = GgufType::u32;
template <>
inline constexpr GgufType scalar_type<std::int32_t> = GgufType::i32;
template <>
inline constexpr GgufType scalar_type<std::uint64_t> = GgufType::u64;
template <>
inline constexpr GgufType scalar_type<std::int64_t> = GgufType::i64;
template <>
inline constexpr GgufType scalar_type<float> = GgufType::f32;
template <>
inline constexpr GgufType scalar_type<double> = GgufType::f64;
template <>
inline constexpr GgufType scalar_type<bool> = GgufType::boolean;

}  // namespace detail::gguf

/// A type of C++ that a metadata value may have as a number: integers of 8 to 64 bits, float, double, bool.
template <class T>
concept GgufScalar = detail::gguf::scalar_type<T>
!= GgufType::array;

/// A metadata value with bytes of its own, to be written.
class OwnedGgufValue {
 public:
  template <GgufScalar T>
  OwnedGgufValue(T number) : type_(detail::gguf::scalar_type<T>) {  // NOLINT: a number is a value
    detail::gguf::append_number(bytes_, number);
  }
  OwnedGgufValue(std::string_view text) : type_(GgufType::string) { detail::gguf::append_text(bytes_, text); }  // NOLINT: so is a text
  OwnedGgufValue(const std::string& text) : OwnedGgufValue(std::string_view(text)) {}                           // NOLINT
  OwnedGgufValue(const char* text) : OwnedGgufValue(std::string_view(text)) {}                                  // NOLINT
  /// A copy of a file's value, whatever it is.
  explicit OwnedGgufValue(const GgufValue& value)
      : type_(value.type()), bytes_(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()), depth_(depth_of(value)) {}

  /// An array of numbers.
  template <GgufScalar T>
  static OwnedGgufValue array(std::span<const T> numbers) {
    OwnedGgufValue out(detail::gguf::scalar_type<T>, numbers.size());
    for (const T number : numbers) detail::gguf::append_number(out.bytes_, number);
    return out;
  }
  template <GgufScalar T>
  static OwnedGgufValue array(const std::vector<T>& numbers) {
    if constexpr (std::same_as<T, bool>) {  // has no span
      OwnedGgufValue out(GgufType::boolean, numbers.size());
      for (const bool number : numbers) detail::gguf::append_number(out.bytes_, number);
      return out;
    } else {
      return array(std::span<const T>(numbers));
    }
  }
  /// An array of texts: std::string or std::string_view.
  template <class Text>
  requires std::convertible_to<Text, std::string_view>
  static OwnedGgufValue array(const std::vector<Text>& texts) {
    OwnedGgufValue out(GgufType::string, texts.size());
    for (const std::string_view text : texts) detail::gguf::append_text(out.bytes_, text);
    return out;
  }
  /// An array of arrays. Throws ValueError for an element that is none, or when they nest deeper than readers go.
  static OwnedGgufValue array(const std::vector<OwnedGgufValue>& arrays) {
    OwnedGgufValue out(GgufType::array, arrays.size());
    for (const OwnedGgufValue& element : arrays) {
      if (element.type_ != GgufType::array) throw ValueError("llm::OwnedGgufValue: an array of arrays has an element that is none");
      out.depth_ = (std::max)(out.depth_, element.depth_ + 1);
      out.bytes_ += element.bytes_;
    }
    if (out.depth_ > detail::gguf::max_array_depth)
      throw ValueError(detail::concat("llm::OwnedGgufValue: arrays within arrays, more than ", detail::gguf::max_array_depth, " deep"));
    return out;
  }

  GgufType type() const { return type_; }
  std::string_view bytes() const { return bytes_; }
  /// The same as a reader sees it, valid as long as this object stays where it is.
  GgufValue view() const { return {type_, std::as_bytes(std::span(bytes_.data(), bytes_.size()))}; }

 private:
  OwnedGgufValue(GgufType element, std::size_t count) : type_(GgufType::array) {
    detail::gguf::append_number(bytes_, static_cast<std::uint32_t>(element));
    detail::gguf::append_number(bytes_, std::uint64_t{count});
  }

  /// How deep arrays lie within each other, by the reader at most 8; 1 for what is no array, too.
  static int depth_of(const GgufValue& value) {
    const auto array = value.array();
    int inner = 0;
    if (array && array->element_type() == GgufType::array)
      for (const GgufValue& element : *array) inner = (std::max)(inner, depth_of(element));
    return 1 + inner;
  }

  GgufType type_;
  std::string bytes_;
  int depth_ = 1;  // of arrays
};

/// Keys and values in the order in which they are written.
class GgufMetadata {
 public:
  struct Pair {
    std::string key;
    OwnedGgufValue value;
  };

  GgufMetadata() = default;
  /// A copy of a file's.
  explicit GgufMetadata(const GgufFile& file) {
    for (const GgufPair& pair : file.metadata()) set(pair.key, OwnedGgufValue(pair.value));
  }

  /// Sets a key, in its old place if it is there already.
  void set(std::string_view key, OwnedGgufValue value) {
    const auto [at, added] = places_.try_emplace(std::string(key), pairs_.size());
    if (added)
      pairs_.push_back({std::string(key), std::move(value)});
    else
      pairs_[at->second].value = std::move(value);
  }
  /// The value of this key, or null.
  const OwnedGgufValue* find(std::string_view key) const {
    const auto at = places_.find(key);
    return at == places_.end() ? nullptr : &pairs_[at->second].value;
  }
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace llm
