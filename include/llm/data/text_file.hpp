// Reads a text file for training.
#pragma once

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>

#include <llm/core/error.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

namespace detail {

/// The bytes of a file. Throws FileError with the system's reason.
inline std::string read_bytes(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  if (file) {
    constexpr std::size_t step = std::size_t{1} << 20;  // the size is not asked for: pipes have none
    std::size_t length = 0;
    do {
      bytes.resize(length + step);
      file.read(bytes.data() + length, static_cast<std::streamsize>(step));
      length += static_cast<std::size_t>(file.gcount());
    } while (file);
    bytes.resize(length);
  }
  if (!file.eof()) {
    const int code = errno;
    throw FileError(concat(path, ": cannot read the text: ", code != 0 ? std::generic_category().message(code) : "unknown reason"));
  }
  return bytes;
}

}  // namespace detail

/// The whole file as UTF-8 text, without a byte order mark; line ends stay as they are. Throws FileError, naming the file, when
/// it cannot be read, holds no text, or is not valid UTF-8 (with the byte offset in the file).
inline std::string read_text(const std::string& path) {
  std::string text = detail::read_bytes(path);
  if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
    const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    throw FileError(detail::concat(path, ": the text is not valid UTF-8 at byte ", at,
                                   utf16 ? " (it looks like UTF-16; convert it to UTF-8)" : " (hint: convert it to UTF-8)"));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.empty()) throw FileError(detail::concat(path, ": the file holds no text"));
  return text;
}

}  // namespace llm
