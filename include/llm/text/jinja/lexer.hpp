// Cuts the source of a template into tokens, as Jinja does with trim_blocks and lstrip_blocks, which is how chat templates are written.
// Source: Jinja's documentation, "Template Designer Documentation", "Whitespace Control".
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::jinja {

/// Every error of a template says where in it.
template <class... Parts>
[[noreturn]] void fail(std::size_t line, const Parts&... parts) {
  throw ValueError(concat("llm::ChatTemplate: line ", line, ": ", parts...));
}

struct Token {
  enum class Kind : std::uint8_t { text, print_begin, print_end, block_begin, block_end, name, string, integer, symbol, end };
  Kind kind = Kind::end;
  std::string text = {};  // of a string: what it means
  std::int64_t number = 0;
  std::size_t line = 1;
};

/// What Python's str.strip() takes away.
constexpr bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// The bytes of white space at the beginning of a text, which must be valid UTF-8.
constexpr std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = read_utf8(text, at);
    if (!is_python_space(step.code_point)) break;
    at += step.length;
  }
  return at;
}
/// What is left of a text without the white space at its end: its length.
constexpr std::size_t without_trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) --at;
    if (!is_python_space(read_utf8(text, at).code_point)) break;
    end = at;
  }
  return end;
}

class Lexer {
 public:
  static std::vector<Token> tokens(std::string_view source) {
    if (const std::size_t at = find_invalid_utf8(source); at != std::string_view::npos)
      throw ValueError(concat("llm::ChatTemplate: is not valid UTF-8 at byte ", at));
    Lexer lexer(one_kind_of_newline(source));
    lexer.run();
    return std::move(lexer.tokens_);
  }

 private:
  using Kind = Token::Kind;
  static constexpr std::size_t max_tokens = std::size_t{1} << 15;  // published templates have up to some thousands
  static constexpr std::array<std::string_view, 6> long_symbols{"**", "//", "==", "!=", "<=", ">="};

  explicit Lexer(std::string source) : source_(std::move(source)) {}

  static std::string one_kind_of_newline(std::string_view source) {
    std::string out;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '\r') {
        out.push_back(source[i]);
      } else {
        out.push_back('\n');
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      }
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool looking_at(std::string_view text) const { return rest().starts_with(text); }
  void skip(std::size_t count) {
    line_ += static_cast<std::size_t>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_), source_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }
  void add(Kind kind, std::string text = {}, std::int64_t number = 0) {
    if (tokens_.size() == max_tokens) fail(line_, "the template is too long: more than ", max_tokens, " words and symbols");
    tokens_.push_back({kind, std::move(text), number, line_});
  }

  void run() {
    while (at_ < source_.size()) {
      std::size_t tag = source_.find('{', at_);
      while (tag != std::string::npos && (tag + 1 == source_.size() || std::string_view("{%#").find(source_[tag + 1]) == std::string::npos))
        tag = source_.find('{', tag + 1);
      add_text((std::min)(tag, source_.size()));
      if (tag == std::string::npos) break;
      take_tag(source_[tag + 1]);
    }
    add(Kind::end);
  }

  /// The text before a tag (or the end), without the white space that the tag takes away.
  void add_text(std::size_t end) {
    std::string_view text = rest().substr(0, end - at_);
    const char kind = end < source_.size() ? source_[end + 1] : '{', sign = end + 2 < source_.size() ? source_[end + 2] : ' ';
    const bool tag = end < source_.size();
    if (tag && sign == '-') {
      text = text.substr(0, without_trailing_space(text));
    } else if (tag && sign != '+' && kind != '{') {  // white space between the beginning of a line and a block
      const std::size_t line = text.rfind('\n') + 1;
      if ((line > 0 || at_line_start_) && leading_space(text.substr(line)) == text.size() - line) text = text.substr(0, line);
    }
    if (!text.empty()) add(Kind::text, std::string(text));
    skip(end - at_);
  }

  void take_tag(char kind) {
    skip(2);
    if (kind == '#') return take_comment();
    if (looking_at("-") || looking_at("+")) skip(1);
    const bool print = kind == '{';
    add(print ? Kind::print_begin : Kind::block_begin);
    std::string open;                                // brackets: inside them "}}" ends nothing
    const std::size_t most = tokens_.size() + 4000;  // expressions become trees as deep as they are long
    while (!(open.empty() && take_end(print ? "}}" : "%}", !print))) {
      skip(leading_space(rest()));
      if (at_ == source_.size()) fail(line_, "a tag has no end");
      if (tokens_.size() > most) fail(line_, "a tag is too long");
      if (open.empty() && (looking_at(print ? "}}" : "%}") || looking_at(print ? "-}}" : "-%}") || (!print && looking_at("+%}")))) continue;
      take_token(open);
    }
    add(print ? Kind::print_end : Kind::block_end);
  }

  void take_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail(line_, "a comment has no end");
    std::size_t last = end;
    if (last > at_ && (source_[last - 1] == '-' || source_[last - 1] == '+')) --last;
    skip(last - at_);
    take_end("#}", true);
  }

  /// Takes the end of a tag when it stands here, with the white space after it that goes with it.
  bool take_end(std::string_view end, bool block) {
    const std::size_t sign = looking_at("-") || (block && looking_at("+")) ? 1 : 0;
    if (!rest().substr(sign).starts_with(end)) return false;
    const char which = sign == 1 ? source_[at_] : ' ';
    skip(sign + end.size());
    std::size_t taken = 0;
    if (which == '-') taken = leading_space(rest());
    if (which == ' ' && block && looking_at("\n")) taken = 1;  // one newline after a block belongs to it
    skip(taken);
    at_line_start_ = taken > 0 && source_[at_ - 1] == '\n';
    return true;
  }

  void take_token(std::string& open) {
    const auto c = static_cast<unsigned char>(source_[at_]);
    if (c == '\'' || c == '"') return take_string(source_[at_]);
    if (c >= '0' && c <= '9') return take_number();
    if (is_name(c)) {
      std::size_t size = 1;
      while (size < rest().size() && is_name(static_cast<unsigned char>(rest()[size]))) ++size;
      add(Kind::name, std::string(rest().substr(0, size)));
      return skip(size);
    }
    for (const std::string_view symbol : long_symbols)
      if (looking_at(symbol)) {
        add(Kind::symbol, std::string(symbol));
        return skip(2);
      }
    if (std::string_view("+-/*%~[](){}<>=.:|,").find(source_[at_]) == std::string_view::npos)
      fail(line_, "unexpected ", in_quotes(rest().substr(0, read_utf8(source_, at_).length)));
    track_brackets(open);
    add(Kind::symbol, std::string(1, source_[at_]));
    skip(1);
  }

  void track_brackets(std::string& open) {
    const char c = source_[at_];
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c != ')' && c != ']' && c != '}') return;
    if (open.empty() || open.back() != c) fail(line_, "unexpected ", in_quotes(std::string_view(&c, 1)));
    open.pop_back();
  }

  static bool is_name(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
  }

  void take_number() {
    std::int64_t value = 0;
    const char *first = source_.data() + at_, *last = source_.data() + source_.size();
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc{} || (end != last && (*end == '_' || is_name(static_cast<unsigned char>(*end)))) ||
        (end + 1 < last && *end == '.' && end[1] >= '0' && end[1] <= '9'))
      fail(line_, "numbers other than integers are not known");
    add(Kind::integer, std::string(first, end), value);
    skip(static_cast<std::size_t>(end - first));
  }

  void take_string(char quote) {
    const std::size_t line = line_;
    std::string value;
    std::size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\' || i + 1 == source_.size()) {
        value.push_back(source_[i]);
      } else {
        ++i;
        append_escape(value, i);
      }
    }
    if (i >= source_.size()) fail(line, "a string has no end");
    add(Kind::string, std::move(value));
    skip(i + 1 - at_);
  }

  /// What stands after a backslash, as in Python; `i` is moved to its last byte.
  void append_escape(std::string& value, std::size_t& i) const {
    constexpr std::string_view names = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[i];
    const auto simple = names.find(c);
    if (simple != std::string_view::npos) return value.push_back(meanings[simple]);
    if (c == '\n') return;  // a line goes on
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {  // Python keeps the backslash of what it does not know
      if (c >= '0' && c <= '7') fail(line_, "octal escapes are not known");
      value += {'\\', c};
      return;
    }
    std::uint32_t code = 0;
    const char* const first = source_.data() + i + 1;
    const char* const last = first + (std::min)(digits, source_.size() - i - 1);
    const auto [end, error] = std::from_chars(first, last, code, 16);
    if (error != std::errc{} || end != first + digits || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      fail(line_, "the escape in a string is no character");
    append_utf8(value, code);
    i += digits;
  }

  std::string source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0, line_ = 1;
  bool at_line_start_ = true;
};

}  // namespace llm::detail::jinja
