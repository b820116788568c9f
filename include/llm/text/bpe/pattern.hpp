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

/// A string or a Regex to find in texts.
class TextPattern {
 public:
  /// Throws ValueError for an empty string, which is everywhere.
  explicit TextPattern(std::string literal) : what_(std::move(literal)) {
    if (std::get<std::string>(what_).empty()) throw ValueError("the text to look for is empty");
  }
  explicit TextPattern(Regex regex) : what_(std::move(regex)) {}

  /// Calls f(begin, end) for each match in turn; matches do not overlap.
  template <class F>
  void for_each_match(std::string_view text, F&& f) const {
    if (const auto* regex = std::get_if<Regex>(&what_)) return regex->for_each_match(text, f);
    const std::string& literal = *std::get_if<std::string>(&what_);
    for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size()))
      f(at, at + literal.size());
  }

  /// The text with every match replaced, literally.
  std::string replace(std::string_view text, std::string_view by) const {
    std::string out;
    std::size_t kept = 0;
    for_each_match(text, [&](std::size_t begin, std::size_t end) {
      out += text.substr(kept, begin - kept);
      out += by;
      kept = end;
    });
    out += text.substr(kept);
    return out;
  }

 private:
  std::variant<std::string, Regex> what_;
};

}  // namespace llm
