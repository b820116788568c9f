// Patterns of tokenizer.json in PCRE2's words. The files are written for Oniguruma; where the two libraries mean different things by
// the same letters, the pattern is rewritten, and what cannot be is refused: a wrong split would give wrong ids without a word.
// One difference stays: regardless of case, Oniguruma takes U+00DF for "ss" and three more for two letters; no published pattern has such.
// Source: Oniguruma's doc/RE and doc/SYNTAX.md; pcre2pattern(3).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::bpe {

/// Rewrites one pattern.
class RegexSyntax {
 public:
  /// Throws ValueError, saying what is not supported, or that the pattern is not UTF-8.
  static std::string to_pcre2(std::string_view pattern) {
    if (find_invalid_utf8(pattern) != std::string_view::npos) throw ValueError("is not valid UTF-8");
    RegexSyntax syntax(pattern);
    while (syntax.more()) syntax.step();
    return std::move(syntax.out_);
  }

 private:
  explicit RegexSyntax(std::string_view pattern) : in_(pattern) {}

  // What Oniguruma calls a word: in a class, and in \w and \b by themselves, which have six numbers of Latin-1 more.
  static constexpr std::string_view posix_word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
  static constexpr std::string_view word_class = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xB2\\xB3\\xB9\\xBC-\\xBE";

  bool more() const { return at_ < in_.size(); }
  bool next_is(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  [[noreturn]] static void refuse(std::string_view what) { throw ValueError(concat("has ", what, ", which is not supported")); }
  void copy(std::size_t count) {
    out_ += in_.substr(at_, count);
    at_ += count;
  }

  void step() {
    const char c = in_[at_];
    if (c == '\\') return escape(false);
    if (c == '[') return character_class();
    if (c == '(') return group();
    if (c == '{') return interval();
    copy(1);
  }

  void group() {
    if (next_is("(*")) refuse("'(*'");
    if (!next_is("(?")) return copy(1);
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"})
      if (next_is(known)) return copy(known.size());
    // Inside a pattern the two differ about how many alternatives such an option reaches.
    if (next_is("(?i)") && at_ == 0) return copy(4);
    refuse(in_quotes(in_.substr(at_, 4)));
  }

  /// {n}, {n,}, {,m} or {n,m}; other braces are literal in both.
  void interval() {
    std::size_t end = at_ + 1, digits = 0, commas = 0;
    for (; end < in_.size() && (in_[end] == ',' || is_digit(in_[end])); ++end) ++(in_[end] == ',' ? commas : digits);
    if (end == in_.size() || in_[end] != '}' || digits == 0 || commas > 1) {
      out_ += "\\{";
      ++at_;
      return;
    }
    out_ += in_[at_ + 1] == ',' ? "{0" : "{";
    ++at_;
    copy(end + 1 - at_);
    if (more() && in_[at_] == '+') refuse("'+' after an interval");  // possessive there, another repetition here
  }

  void escape(bool in_class) {
    if (at_ + 1 == in_.size()) throw ValueError("ends with '\\'");
    const char c = in_[at_ + 1];
    if (const auto replacement = replaced(c, in_class)) {
      out_ += *replacement;
      at_ += 2;
    } else if (c == 'u') {
      code_unit();
    } else if (!is_letter_or_digit(c)) {
      copy(2);  // punctuation, or the first byte of a character
    } else if (std::string_view("pPxrntfaedD0").find(c) != std::string_view::npos ||
               (!in_class && std::string_view("AzZ").find(c) != std::string_view::npos)) {
      copy(2);
      if (next_is("{") && c == 'x') copy_braces();
      if (next_is("{") && (c == 'p' || c == 'P')) property();
    } else {
      refuse(in_quotes(in_.substr(at_, 2)));
    }
  }

  std::size_t end_of_braces() const {
    const std::size_t end = in_.find('}', at_);
    if (end == std::string_view::npos) throw ValueError("has '{' without its '}'");
    return end + 1;
  }
  void copy_braces() { copy(end_of_braces() - at_); }

  /// A category, a property or a script. Of a script PCRE2 would take the extensions, too, unless told.
  void property() {
    std::string_view name = in_.substr(at_ + 1, end_of_braces() - at_ - 2);
    out_ += '{';
    if (name.starts_with('^')) out_ += '^';
    if (name.starts_with('^')) name.remove_prefix(1);
    bool script = name.size() > 2;
    for (const std::string_view property : {"Any", "Alphabetic", "Uppercase", "Lowercase", "White_Space", "Alpha", "Upper", "Lower"})
      script = script && name != property;
    if (script) out_ += "sc:";
    out_ += concat(name, "}");
    at_ = end_of_braces();
  }

  /// Classes that differ: PCRE2's \s has U+180E, its \w lacks marks, its \h and \v are kinds of space.
  static std::optional<std::string> replaced(char c, bool in_class) {
    switch (c) {
      case 's':
        return "\\p{White_Space}";
      case 'S':
        return "\\P{White_Space}";
      case 'w':
        return in_class ? std::string(posix_word) : concat("[", word_class, "]");
      case 'h':
        return std::string(in_class ? "0-9A-Fa-f" : "[0-9A-Fa-f]");
      case 'v':
        return "\\x0B";
      case 'W':
        if (!in_class) return concat("[^", word_class, "]");
        return {};
      case 'b':
        if (in_class) return "\\x08";
        return concat("(?:(?<=[", word_class, "])(?![", word_class, "])|(?<![", word_class, "])(?=[", word_class, "]))");
      case 'B':
        if (!in_class) return concat("(?:(?<=[", word_class, "])(?=[", word_class, "])|(?<![", word_class, "])(?![", word_class, "]))");
        return {};
      default:
        return {};
    }
  }

  /// \uHHHH.
  void code_unit() {
    const std::string_view digits = in_.substr(at_ + 2, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      throw ValueError("has '\\u' without four hexadecimal digits");
    out_ += concat("\\x{", digits, "}");
    at_ += 6;
  }

  void character_class() {
    copy(next_is("[^") ? 2 : 1);
    if (next_is("]")) copy(1);  // the first is a letter like others
    while (more() && in_[at_] != ']') {
      if (next_is("&&")) refuse("'&&' in a class");
      if (in_[at_] == '\\')
        escape(true);
      else if (next_is("[:"))
        posix_class();
      else if (in_[at_] == '[')
        refuse("a class in a class");
      else
        copy(1);
    }
    if (!more()) throw ValueError("has a class without its ']'");
    copy(1);
  }
  void posix_class() {
    constexpr std::pair<std::string_view, std::string_view> known[] = {{"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
                                                                       {"[:alpha:]", "\\p{Alphabetic}"},
                                                                       {"[:blank:]", "\\p{Zs}\\t"},
                                                                       {"[:cntrl:]", "\\p{Cc}"},
                                                                       {"[:digit:]", "\\p{Nd}"},
                                                                       {"[:lower:]", "\\p{Lowercase}"},
                                                                       {"[:punct:]", "\\p{P}\\p{S}"},
                                                                       {"[:space:]", "\\p{White_Space}"},
                                                                       {"[:upper:]", "\\p{Uppercase}"},
                                                                       {"[:word:]", posix_word},
                                                                       {"[:xdigit:]", "0-9A-Fa-f"}};
    for (const auto& [name, meaning] : known) {
      if (!next_is(name)) continue;
      out_ += meaning;
      at_ += name.size();
      return;
    }
    refuse(in_quotes(in_.substr(at_, 10)));
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace llm::detail::bpe
