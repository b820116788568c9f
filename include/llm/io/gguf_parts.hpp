// The parts of a GGUF header one by one: counts, pairs of key and value, entries of tensors, each checked by itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_cursor.hpp>
#include <llm/io/gguf_format.hpp>
#include <llm/io/gguf_value.hpp>

namespace llm {

/// A metadata key and its value, both in the file.
struct GgufPair {
  std::string_view key;
  GgufValue value;
};

namespace detail::gguf {

struct Counts {
  std::uint32_t version;
  std::uint64_t tensors, pairs;
};

/// Magic, version and the two counts, which are held against the bytes that follow.
inline Counts read_counts(Cursor& cursor) {
  if (cursor.left() < 4 || cursor.number<std::uint32_t>("magic") != 0x46554747)
    cursor.fail("is no GGUF file: it does not begin with 'GGUF'");
  const auto version = cursor.number<std::uint32_t>("version");
  if (version != 0 && (version & 0xffff) == 0) cursor.fail("is a big-endian GGUF file; only little-endian ones are read");
  if (version != 2 && version != 3) cursor.fail(concat("is GGUF version ", version, "; versions 2 and 3 are read"));
  const auto tensors = cursor.number<std::uint64_t>("number of tensors");
  const auto pairs = cursor.number<std::uint64_t>("number of metadata keys");
  const auto check = [&](std::string_view what, std::uint64_t count, std::uint64_t limit, std::uint64_t min_bytes) {
    if (count > cursor.left() / min_bytes)
      cursor.fail(concat("claims ", count, " ", what, ", more than its ", cursor.left(), " bytes can hold"));
    if (count > limit) cursor.fail(concat("has ", count, " ", what, ", more than the limit of ", limit));
  };
  check("tensors", tensors, max_tensors, min_tensor_bytes);
  check("metadata keys", pairs, max_pairs, min_pair_bytes);
  return {version, tensors, pairs};
}

/// A key or a tensor's name: not empty, no longer than the limit, and printable ASCII.
inline std::string_view read_name(Cursor& cursor, std::string_view what, std::uint64_t limit) {
  const std::string_view name = cursor.text(what);
  if (name.empty()) cursor.fail(concat("a ", what, " is empty"));
  if (name.size() > limit) cursor.fail(concat("a ", what, " is ", name.size(), " bytes long, the format's limit is ", limit));
  for (const char c : name)
    if (c < 0x20 || c > 0x7e) cursor.fail(concat("the ", what, " ", in_quotes(name), " has characters other than printable ASCII"));
  return name;
}

inline GgufPair read_pair(Cursor& cursor) {
  const std::string_view key = read_name(cursor, "metadata key", max_key_bytes);
  const std::string what = concat("value of ", in_quotes(key));
  const GgufType type = cursor.type(what);
  const std::size_t start = cursor.position();
  skip_value(cursor, type, what);
  return {key, GgufValue(type, cursor.since(start))};
}

/// The value of general.alignment.
inline std::uint64_t alignment_of(const Cursor& cursor, const GgufValue& value) {
  if (value.type() != GgufType::u32) cursor.fail(concat(alignment_key, " has type ", to_string(value.type()), ", expected u32"));
  const auto alignment = static_cast<std::uint64_t>(*value.integer());
  if (!std::has_single_bit(alignment) || alignment < min_alignment || alignment > max_alignment)
    cursor.fail(concat(alignment_key, " is ", alignment, ", expected a power of two from ", min_alignment, " to ", max_alignment));
  return alignment;
}

/// A tensor's entry in the header; `offset` is relative to the start of the data.
struct TensorInfo {
  std::string_view name;
  const ElementType* type;
  std::uint32_t dimensions;
  std::uint64_t extents[max_dimensions];  // as the file has them, the contiguous one first
  std::uint64_t offset, size;

  std::vector<std::int64_t> shape() const {
    std::vector<std::int64_t> out;
    for (std::uint32_t i = dimensions; i-- > 0;) out.push_back(static_cast<std::int64_t>(extents[i]));
    return out;
  }
};

/// Bytes of a tensor. Products are checked as if an extent of 0 were 1, so that none can hide an overflow.
inline std::uint64_t tensor_bytes(const Cursor& cursor, const TensorInfo& info) {
  const auto blocks_of = static_cast<std::uint64_t>(info.type->elements), block_bytes = static_cast<std::uint64_t>(info.type->bytes);
  const auto fail = [&](const std::string& reason) { cursor.fail(concat("tensor ", in_quotes(info.name), ": ", reason)); };
  if (const std::uint64_t row = info.dimensions == 0 ? 1 : info.extents[0]; row % blocks_of != 0)
    fail(concat("a row of ", row, " elements is not a whole number of ", info.type->name, " blocks of ", blocks_of));
  std::uint64_t count = 1;
  bool empty = false;
  for (std::uint32_t i = 0; i < info.dimensions; ++i) {
    const std::uint64_t extent = (std::max)(info.extents[i], std::uint64_t{1});
    empty = empty || info.extents[i] == 0;
    if (extent > INT64_MAX / block_bytes / count) fail("its shape takes 2^63 bytes or more");
    count *= extent;
  }
  return empty ? 0 : count / blocks_of * block_bytes;
}

inline TensorInfo read_tensor(Cursor& cursor, std::uint64_t alignment) {
  TensorInfo info{};
  info.name = read_name(cursor, "tensor name", max_name_bytes);
  const std::string what = concat("entry of tensor ", in_quotes(info.name));
  info.dimensions = cursor.number<std::uint32_t>(what);
  if (info.dimensions > max_dimensions)
    cursor.fail(concat(what, " has ", info.dimensions, " dimensions, the format's limit is ", max_dimensions));
  for (std::uint32_t i = 0; i < info.dimensions; ++i) info.extents[i] = cursor.number<std::uint64_t>(what);
  const auto type = cursor.number<std::uint32_t>(what);
  info.type = find_element_type(type);
  if (info.type == nullptr) cursor.fail(concat(what, " has the unknown or removed element type ", type));
  info.size = tensor_bytes(cursor, info);
  info.offset = cursor.number<std::uint64_t>(what);
  if (info.offset % alignment != 0)
    cursor.fail(concat(what, " has the offset ", info.offset, ", no multiple of the alignment ", alignment));
  return info;
}

}  // namespace detail::gguf

}  // namespace llm
