// Removes what terminals obey and readers do not read: colour codes and other escape sequences.
// Source: ECMA-48, sections 5.3 and 5.4; the operating system commands of xterm's ctlseqs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace llm {

namespace detail {

/// The length of a run of bytes from `low` to `high` that begins at `at`.
constexpr std::size_t run_length(std::string_view text, std::size_t at, char low, char high) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= low && text[end] <= high) ++end;
  return end - at;
}

/// Where a control sequence ends whose parameters begin at `at`. One that is cut or broken ends before the wrong byte.
constexpr std::size_t end_of_control_sequence(std::string_view text, std::size_t at) {
  at += run_length(text, at, '\x30', '\x3f');
  at += run_length(text, at, '\x20', '\x2f');
  return at + (std::min)(run_length(text, at, '\x40', '\x7e'), std::size_t{1});
}

/// Where a command string ends that begins at `at`: after BEL or ESC \. One without an end is taken for no string.
constexpr std::size_t end_of_command_string(std::string_view text, std::size_t at) {
  const std::size_t bell = text.find('\a', at);
  const std::size_t terminator = text.substr(0, bell).find("\x1b\\", at);  // no further: a text has many strings
  if (bell == text.npos && terminator == text.npos) return at;
  return bell < terminator ? bell + 1 : terminator + 2;
}

/// Where the escape sequence ends whose ESC stands before `at`.
constexpr std::size_t end_of_escape(std::string_view text, std::size_t at) {
  if (at == text.size()) return at;
  if (text[at] == '[') return end_of_control_sequence(text, at + 1);
  if (std::string_view("]PX^_").find(text[at]) != text.npos) return end_of_command_string(text, at + 1);
  at += run_length(text, at, '\x20', '\x2f');
  return at + (std::min)(run_length(text, at, '\x30', '\x7e'), std::size_t{1});
}

}  // namespace detail

/// The text without escape sequences: CSI (colours "ESC [ 31 m", cursor movement, ...), OSC (titles, links) and the other
/// strings, and two-character escapes. Everything else stays, byte for byte.
inline std::string strip_ansi(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t escape = (std::min)(text.find('\x1b', at), text.size());
    out.append(text, at, escape - at);
    at = escape == text.size() ? escape : detail::end_of_escape(text, escape + 1);
  }
  return out;
}

}  // namespace llm
