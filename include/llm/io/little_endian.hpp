// Numbers in files, whose first byte is the lowest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace llm::detail {

/// The number that all of the bytes are, at most eight.
inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// The number of four bytes at `at`, which are there.
inline std::uint32_t little_endian_u32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(little_endian(bytes.subspan(at, 4)));
}

}  // namespace llm::detail
