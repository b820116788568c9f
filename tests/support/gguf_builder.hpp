// Builds the bytes of GGUF files for tests, good ones and, by setting what does not fit, bad ones.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/io/gguf_format.hpp>

namespace llm_test {

/// Little-endian bytes of an integer, by its type.
template <class Integer>
std::string le(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  return bytes;
}
/// A string as the format has it: its length, then its characters.
inline std::string gguf_text(std::string_view text) { return le(std::uint64_t{text.size()}) + std::string(text); }
/// An array's head: the type of its elements and their number; the elements follow.
inline std::string gguf_array(llm::GgufType type, std::uint64_t count) { return le(static_cast<std::uint32_t>(type)) + le(count); }

class GgufBuilder {
 public:
  // What the header says; the counts are those of the parts unless set.
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t pair_count = 0, tensor_count = 0;

  /// A key with any value: its type's number and its bytes.
  GgufBuilder& raw(std::string_view key, std::uint32_t type, const std::string& value) {
    pairs_ += gguf_text(key) + le(type) + value;
    ++pair_count;
    return *this;
  }
  GgufBuilder& raw(std::string_view key, llm::GgufType type, const std::string& value) {
    return raw(key, static_cast<std::uint32_t>(type), value);
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) { return raw(key, llm::GgufType::u32, le(value)); }
  GgufBuilder& f32(std::string_view key, float value) { return raw(key, llm::GgufType::f32, le(std::bit_cast<std::uint32_t>(value))); }
  GgufBuilder& flag(std::string_view key, bool value) { return raw(key, llm::GgufType::boolean, le(static_cast<std::uint8_t>(value))); }
  GgufBuilder& text(std::string_view key, std::string_view value) { return raw(key, llm::GgufType::string, gguf_text(value)); }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = gguf_array(llm::GgufType::string, values.size());
    for (const std::string& value : values) bytes += gguf_text(value);
    return raw(key, llm::GgufType::array, bytes);
  }

  /// A tensor's entry alone, with extents in the file's order, the contiguous one first.
  GgufBuilder& entry(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset) {
    entries_ += gguf_text(name) + le(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) entries_ += le(extent);
    entries_ += le(type) + le(offset);
    ++tensor_count;
    return *this;
  }
  /// A tensor with its bytes, placed after the ones before.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t type, const std::string& bytes) {
    entry(name, extents, type, data.size());
    data += bytes;
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  /// An f32 tensor of zeros of a row-major shape, [out, in].
  GgufBuilder& zeros(std::string_view name, std::vector<std::uint64_t> shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    return tensor(name, {shape.rbegin(), shape.rend()}, 0, std::string(4 * count, '\0'));
  }

  std::string header() const { return magic + le(version) + le(tensor_count) + le(pair_count) + pairs_ + entries_; }
  std::string str() const {
    std::string file = header();
    if (alignment > 0 && alignment <= 65536) file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }

  std::string data;

 private:
  std::string pairs_, entries_;
};

}  // namespace llm_test
