// The alphabet of byte-level BPE: one printable character for each byte, so that any text is a string of known characters.
// Source: GPT-2's encoder (Radford et al. 2019). Bytes that are printable in Latin-1 stand for themselves, the other 68 for U+0100 and on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <llm/text/utf8.hpp>

namespace llm::detail::bpe {

/// The characters end before U+0144.
inline constexpr char32_t alphabet_end = 0x144;

struct ByteAlphabet {
  std::array<char32_t, 256> character{};           ///< of each byte
  std::array<unsigned char, alphabet_end> byte{};  ///< of each character that has one
  std::array<bool, alphabet_end> is_character{};
};

inline constexpr ByteAlphabet byte_alphabet = [] {
  ByteAlphabet alphabet;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t character = printable ? byte : next++;
    alphabet.character[byte] = character;
    alphabet.byte[character] = static_cast<unsigned char>(byte);
    alphabet.is_character[character] = true;
  }
  return alphabet;
}();

/// Appends the characters that stand for `bytes`.
inline void append_alphabet(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_utf8(out, byte_alphabet.character[static_cast<unsigned char>(byte)]);
}

/// Appends the bytes that `text`, valid UTF-8, stands for. A text with a character outside the alphabet is appended as it is.
inline void append_bytes(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (step.code_point >= alphabet_end || !byte_alphabet.is_character[step.code_point]) {
      out.resize(before);
      out += text;
      return;
    }
    out += static_cast<char>(byte_alphabet.byte[step.code_point]);
    at += step.length;
  }
}

}  // namespace llm::detail::bpe
