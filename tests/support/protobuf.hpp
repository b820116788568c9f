// Writes Protocol Buffers messages, as few as tests need.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace llm_test {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string integer_field(std::uint64_t number, std::uint64_t value) { return varint(number << 3) + varint(value); }
inline std::string bytes_field(std::uint64_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string float_field(std::uint64_t number, float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::string out = varint(number << 3 | 5);
  for (int i = 0; i < 4; ++i, bits >>= 8) out += static_cast<char>(bits & 0xff);
  return out;
}

}  // namespace llm_test
