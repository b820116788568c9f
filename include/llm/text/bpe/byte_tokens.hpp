// Byte fallback: tokens spelled <0x00> .. <0xFF>, which stand for the bytes of characters that a vocabulary lacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <llm/text/bpe/vocabulary.hpp>

namespace llm::detail::bpe {

/// "<0x0A>".
inline std::string byte_token(unsigned byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return std::string("<0x") + digits[byte >> 4 & 0xF] + digits[byte & 0xF] + ">";
}

/// The byte that a token of this form stands for; hexadecimal digits of either case.
inline std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return {};
  unsigned byte = 0;
  for (const char c : token.substr(3, 2)) {
    const bool decimal = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'F', lower = c >= 'a' && c <= 'f';
    if (!decimal && !upper && !lower) return {};
    byte = byte << 4 | static_cast<unsigned>(decimal ? c - '0' : upper ? c - 'A' + 10 : c - 'a' + 10);
  }
  return static_cast<unsigned char>(byte);
}

/// The ids of the byte tokens that a vocabulary has, -1 for the others.
inline std::array<std::int32_t, 256> byte_token_ids(const Vocabulary& vocabulary) {
  std::array<std::int32_t, 256> ids;
  for (unsigned byte = 0; byte < 256; ++byte) ids[byte] = vocabulary.find(byte_token(byte)).value_or(-1);
  return ids;
}

}  // namespace llm::detail::bpe
