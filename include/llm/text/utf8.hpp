// UTF-8: validated decoding and encoding of code points. Own code rather than a library, because tokenizers and streams need
// the byte offset of an error and whether a sequence is wrong or only unfinished.
// Source: The Unicode Standard 15.0, table 3-7 (well-formed sequences) and section 3.9 (maximal subparts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <llm/core/error.hpp>

namespace llm {

/// Stands for bytes that are no text, "\uFFFD".
inline constexpr char32_t replacement_character = 0xFFFD;
inline constexpr std::string_view replacement_utf8 = "\xEF\xBF\xBD";

/// What stands at one place of a byte string.
struct Utf8Step {
  enum class Kind {
    character,   ///< a whole character
    invalid,     ///< bytes that cannot begin or continue one
    unfinished,  ///< the text ends inside a character that may still become whole
  };
  Kind kind;
  char32_t code_point;  ///< of a character, else U+FFFD
  std::size_t length;   ///< bytes; of what is not a character, those to replace by one U+FFFD
};

/// Reads the character at byte `at`, which must lie inside the text.
constexpr Utf8Step read_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[at + i])); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8Step::Kind::character, lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::Kind::invalid, replacement_character, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i == text.size()) return {Utf8Step::Kind::unfinished, replacement_character, i};
    if (byte(i) < low || byte(i) > high) return {Utf8Step::Kind::invalid, replacement_character, i};
    code_point = code_point << 6 | (byte(i) & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Step::Kind::character, code_point, length};
}

/// The byte offset of the first thing that is not UTF-8; npos when the text is valid.
constexpr std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (step.kind != Utf8Step::Kind::character) return at;
    at += step.length;
  }
  return std::string_view::npos;
}

/// Appends a character. Throws ValueError for what is no Unicode scalar value: surrogates and beyond U+10FFFF.
inline void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(static_cast<unsigned char>(bits))); };
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    throw ValueError(detail::concat("llm::append_utf8: ", static_cast<std::uint32_t>(code_point), " is no Unicode character"));
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      put(0xE0 | code_point >> 12);
    } else {
      put(0xF0 | code_point >> 18);
      put(0x80 | (code_point >> 12 & 0x3F));
    }
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

/// The UTF-8 form of one character; throws as append_utf8() does.
inline std::string encode_utf8(char32_t code_point) {
  std::string out;
  append_utf8(out, code_point);
  return out;
}

/// Calls f(code point, byte offset) for each character in turn. Throws ValueError naming the offset of invalid UTF-8.
template <class F>
void for_each_character(std::string_view text, F&& f) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (step.kind != Utf8Step::Kind::character) throw ValueError(detail::concat("llm: the text is not valid UTF-8 at byte ", at));
    f(step.code_point, at);
    at += step.length;
  }
}

/// The characters of a text. Throws ValueError naming the byte offset of invalid UTF-8.
inline std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for_each_character(text, [&](char32_t c, std::size_t) { out.push_back(c); });
  return out;
}

}  // namespace llm
