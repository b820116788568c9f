// The exceptions of the library. Every one derives from llm::Error and says what was called, expected and found.
#pragma once

#include <charconv>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

#include <llm/detail/no_fast_math.hpp>

namespace llm {

/// Base of everything the library throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Run-time extents that do not fit: the wrong length, rank or element count.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A Config that breaks a rule, or that differs from what a file or checkpoint says.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// An argument out of its range: a token id, a temperature, a step count.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// A number that must be finite is not: loss, gradient norm, logits.
class NumericError : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be read or written, or whose content breaks its format. Names the file.
class FileError : public Error {
 public:
  using Error::Error;
};

namespace detail {

inline void append(std::string& out, std::string_view text) { out.append(text); }
template <std::integral I>
void append(std::string& out, I value) {
  if constexpr (std::same_as<I, bool>)
    out.append(value ? "true" : "false");
  else if constexpr (std::same_as<I, char>)
    out.push_back(value);
  else
    out.append(std::to_string(value));
}
/// The shortest digits that read back as the same number: "1e-05", where std::to_string has "0.000010".
template <std::floating_point F>
void append(std::string& out, F value) {
  char text[64];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

/// Joins strings and numbers into the text of a message.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// An integer with its digits in groups of three: 502193664 -> "502,193,664".
inline std::string grouped(std::int64_t number, char separator = ',') {
  std::string text = std::to_string(number);
  const std::size_t digits_from = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > digits_from + 3;) text.insert(at -= 3, 1, separator);
  return text;
}

/// A string of a file in quotes, cut and freed of control characters (C0, DEL and, in UTF-8, C1), so that a message stays one readable
/// line and commands no terminal.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string out = "'";
  unsigned before = 0;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned>(static_cast<unsigned char>(c));
    const bool control = byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte <= 0x9f);
    out += control ? '?' : c;
    before = byte;
  }
  return out + (text.size() > longest ? "...'" : "'");
}

}  // namespace detail
}  // namespace llm
