// Text that arrives in pieces: whole characters only, and nothing that could command a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <llm/text/utf8.hpp>

namespace llm {

/// Turns pieces of bytes, cut anywhere, into pieces of whole characters. However a text is cut, the results joined are the same:
/// valid UTF-8 unchanged, each maximal wrong part as one U+FFFD.
class Utf8Stream {
 public:
  /// Takes bytes and returns every character that is complete by now.
  std::string push(std::string_view bytes) {
    pending_ += bytes;
    std::string out;
    std::size_t at = 0;
    while (at < pending_.size()) {
      const Utf8Step step = read_utf8(pending_, at);
      if (step.kind == Utf8Step::Kind::unfinished) break;
      if (step.kind == Utf8Step::Kind::character)
        out.append(pending_, at, step.length);
      else
        out += replacement_utf8;
      at += step.length;
    }
    pending_.erase(0, at);
    return out;
  }

  /// Ends the text: U+FFFD for a character that never became whole, else nothing. The stream can be used again.
  std::string flush() {
    std::string out(pending_.empty() ? std::string_view{} : replacement_utf8);
    pending_.clear();
    return out;
  }

 private:
  std::string pending_;  // at most three bytes between calls
};

/// The text with every character that a terminal may obey made visible as `\x1b`, `\x07`, ...: C0 except newline and tab, DEL,
/// and C1 (U+0080 to U+009F). Bytes that are not UTF-8 are made visible too.
inline std::string escape_control(std::string_view text) {
  std::string out;
  const auto escape = [&](unsigned value) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += "\\x";
    out += digits[value >> 4 & 0xF];
    out += digits[value & 0xF];
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    const char32_t c = step.code_point;
    if (step.kind != Utf8Step::Kind::character)
      for (std::size_t i = 0; i < step.length; ++i) escape(static_cast<unsigned char>(text[at + i]));
    else if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F))
      escape(static_cast<unsigned>(c));
    else
      out.append(text, at, step.length);
    at += step.length;
  }
  return out;
}

}  // namespace llm
