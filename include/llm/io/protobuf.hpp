// Walks over the fields of a serialised Protocol Buffers message; every length is checked before it is used.
// Source: protobuf.dev, "Encoding".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/io/little_endian.hpp>

namespace llm::detail::protobuf {

/// One field, as it stands in the message. The functions give its value as a type, and throw FileError when it has another.
class Field {
 public:
  enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  Field(std::string_view source, std::uint64_t number, Wire wire, std::uint64_t value, std::span<const std::byte> bytes)
      : source_(source), number_(number), wire_(wire), value_(value), bytes_(bytes) {}

  std::uint64_t number() const { return number_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(expect(Wire::varint, "an integer").value_); }
  bool flag() const { return expect(Wire::varint, "a boolean").value_ != 0; }
  float f32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(expect(Wire::fixed32, "a float").value_)); }
  std::span<const std::byte> bytes() const { return expect(Wire::bytes, "bytes").bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }

 private:
  const Field& expect(Wire wire, std::string_view what) const {
    if (wire_ != wire) throw FileError(concat(source_, ": field ", number_, " is not ", what));
    return *this;
  }

  std::string_view source_;
  std::uint64_t number_;
  Wire wire_;
  std::uint64_t value_;
  std::span<const std::byte> bytes_;
};

/// The fields of one message, in the order of the file. `source` names it in errors and must outlive the fields.
class Message {
 public:
  Message(std::span<const std::byte> bytes, std::string_view source) : left_(bytes), source_(source) {}

  bool at_end() const { return left_.empty(); }
  /// What has not been read yet.
  std::span<const std::byte> left() const { return left_; }

  /// The next field. Throws FileError for what is no field, or does not end in the message.
  Field next() {
    const std::uint64_t tag = varint(), number = tag >> 3;
    if (number == 0 || number > 0x1fff'ffff) fail("a field has no number");
    switch (static_cast<Field::Wire>(tag & 7)) {
      case Field::Wire::varint:
        return {source_, number, Field::Wire::varint, varint(), {}};
      case Field::Wire::fixed64:
        return {source_, number, Field::Wire::fixed64, little_endian(take(8)), {}};
      case Field::Wire::bytes:
        return {source_, number, Field::Wire::bytes, 0, take(varint())};
      case Field::Wire::fixed32:
        return {source_, number, Field::Wire::fixed32, little_endian(take(4)), {}};
      default:
        fail(concat("field ", number, " has the unknown wire type ", tag & 7));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat(source_, ": ", reason)); }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > left_.size()) fail(concat("a field of ", size, " bytes has ", left_.size(), " bytes left"));
    const auto taken = left_.first(static_cast<std::size_t>(size));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail("an integer has more than ten bytes");
  }

  std::span<const std::byte> left_;
  std::string_view source_;
};

}  // namespace llm::detail::protobuf
