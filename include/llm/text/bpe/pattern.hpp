// What text is looked for: a string, or a regular expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <llm/core/error.hpp>
#include <llm/text/bpe/regex.hpp>

namespace llm {

namespace detail::bpe {

/// Replacing must not make a text longer without limit, whatever a file says: NFKC makes a character 11 times as long, a space becomes
/// three bytes. Throws ValueError.
inline void check_growth(std::size_t before, std::size_t after) {
  constexpr std::size_t times = 32, more = 4096;
  if (after > times * before + more)
    throw ValueError(concat("the tokenizer's replacements make a text of ", before, " bytes more than ", times, " times as long"));
}

/// How SentencePiece writes a space: U+2581.
inline constexpr std::string_view space_mark = "\xE2\x96\x81";

}  // namespace detail::bpe

/// A string or a Regex to find in texts.
class TextPattern {
 public:
  /// Throws ValueError for an empty string, which is everywhere.
  explicit TextPattern(std::string literal) : what_(std::move(literal)) {
    if (std::get<std::string>(what_).empty()) throw ValueError("the text to look for is empty");
  }
  explicit TextPattern(Regex regex) : what_(std::move(regex)) {}

  /// Which of the two it is; null for the other.
  const std::string* literal() const { return std::get_if<std::string>(&what_); }
  const Regex* regex() const { return std::get_if<Regex>(&what_); }

  /// Calls f(begin, end) for each match in turn; matches do not overlap.
  template <class F>
  void for_each_match(std::string_view text, F&& f) const {
    if (const auto* regex = std::get_if<Regex>(&what_)) return regex->for_each_match(text, f);
    const std::string& literal = *std::get_if<std::string>(&what_);
    for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size()))
      f(at, at + literal.size());
  }

  /// The text with every match replaced, literally. Throws ValueError when that makes it very much longer.
  std::string replace(std::string_view text, std::string_view by) const {
    std::string out;
    std::size_t kept = 0;
    for_each_match(text, [&](std::size_t begin, std::size_t end) {
      out += text.substr(kept, begin - kept);
      out += by;
      detail::bpe::check_growth(text.size(), out.size());
      kept = end;
    });
    out += text.substr(kept);
    return out;
  }

 private:
  std::variant<std::string, Regex> what_;
};

namespace detail::bpe {

/// A text with spaces in place of their marks, and the other way around.
inline std::string with_spaces(std::string_view text) { return TextPattern(std::string(space_mark)).replace(text, " "); }
inline std::string with_space_marks(std::string_view text) { return TextPattern(std::string(" ")).replace(text, space_mark); }

}  // namespace detail::bpe

}  // namespace llm
