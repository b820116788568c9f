// What templates do with texts, as Python's str does. Characters are code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/value.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::jinja {

inline std::size_t count_characters(std::string_view text, const Site& at) {
  at.spend(text.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += read_utf8(text, i).length) ++count;
  return count;
}
/// The byte at which a character begins; the end when there are not so many.
inline std::size_t byte_of_character(std::string_view text, std::size_t character, const Site& at) {
  at.spend(text.size());
  std::size_t i = 0;
  for (; character > 0 && i < text.size(); --character) i += read_utf8(text, i).length;
  return i;
}
/// Each character as a text.
inline List characters_of(const MarkedText& text, const Site& at) {
  List all;
  for (std::size_t i = 0; i < text.size();) {
    at.spend(64);
    const std::size_t length = read_utf8(text.bytes(), i).length;
    all.emplace_back(text.substr(i, length));
    check_elements(all.size(), at);
    i += length;
  }
  return all;
}

/// The text without the characters of `set`, or white space when there is none, at the sides asked for.
inline MarkedText stripped(const MarkedText& text, const MarkedText* set, bool left, bool right, const Site& at) {
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0, end = bytes.size();
  const auto is_stripped = [&](std::size_t from, std::size_t length) {
    at.spend(set == nullptr ? 1 : 1 + set->size());
    if (set == nullptr) return is_python_space(read_utf8(bytes, from).code_point);
    return set->bytes().find(bytes.substr(from, length)) != std::string_view::npos;
  };
  for (; left && begin < end; begin += read_utf8(bytes, begin).length)
    if (!is_stripped(begin, read_utf8(bytes, begin).length)) break;
  while (right && end > begin) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(bytes[last]) & 0xC0u) == 0x80u) --last;
    if (!is_stripped(last, end - last)) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

inline std::size_t find_text(const MarkedText& text, const MarkedText& what, const Site& at) {
  at.spend_on_search(text.size(), what.size());
  return text.bytes().find(what.bytes());
}

inline MarkedText replaced(const MarkedText& text, const MarkedText& what, const MarkedText& by, const Site& at) {
  if (what.size() == 0) fail(at.line, "'replace' of an empty text");
  at.spend_on_search(text.weight(), what.size());
  MarkedText out;
  std::size_t done = 0;
  for (std::size_t next; (next = text.bytes().find(what.bytes(), done)) != std::string_view::npos; done = next + what.size()) {
    at.spend(32 + by.weight());
    out += text.substr(done, next - done);
    out += by;
  }
  return out += text.substr(done);
}

/// Letters beyond ASCII keep their case only where the template does not touch them: refused rather than got wrong.
inline MarkedText in_case(const MarkedText& text, std::string_view how, const Site& at) {
  at.spend(text.weight());
  bool inside = false;
  const bool each_word = how == "title", first_only = how == "capitalize";
  return text.map_bytes([&](char c) {
    if (static_cast<unsigned char>(c) >= 0x80) fail(at.line, in_quotes(how), " of letters beyond ASCII is not known");
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool up = how == "upper" || ((each_word || first_only) && !inside);
    inside = first_only || letter;
    if (!letter) return c;
    return static_cast<char>(up ? c & ~0x20 : c | 0x20);
  });
}

/// str.split: at a separator, or at runs of white space when there is none; at most `most` times when it is not negative.
inline List split(const MarkedText& text, const MarkedText* separator, std::int64_t most, const Site& at) {
  const std::string_view bytes = text.bytes();
  at.spend_on_search(text.weight(), separator == nullptr ? 0 : separator->size());
  List parts;
  const auto more = [&] { return most < 0 || static_cast<std::int64_t>(parts.size()) < most; };
  const auto keep = [&](std::size_t begin, std::size_t end) {
    at.spend(64);
    parts.emplace_back(text.substr(begin, end - begin));
    check_elements(parts.size(), at);
  };
  if (separator != nullptr) {
    if (separator->size() == 0) fail(at.line, "'split' at an empty text");
    std::size_t done = 0;
    for (std::size_t next; more() && (next = bytes.find(separator->bytes(), done)) != std::string_view::npos;
         done = next + separator->size())
      keep(done, next);
    keep(done, bytes.size());
    return parts;
  }
  for (std::size_t begin = leading_space(bytes); begin < bytes.size();) {
    std::size_t end = more() ? begin : bytes.size();
    while (end < bytes.size() && !is_python_space(read_utf8(bytes, end).code_point)) end += read_utf8(bytes, end).length;
    keep(begin, end);
    begin = end + leading_space(bytes.substr(end));
  }
  return parts;
}

}  // namespace llm::detail::jinja
