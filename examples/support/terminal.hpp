// Whether the output goes to a person's terminal, and text for either.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <llm/text/stream.hpp>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace examples {

inline bool is_terminal(std::FILE* file) {
#if defined(_WIN32)
  return _isatty(_fileno(file)) != 0;
#else
  return isatty(fileno(file)) != 0;
#endif
}

/// A terminal gets control characters made visible, a file or a pipe gets the text as it is.
inline void show(std::string_view text) {
  static const bool terminal = is_terminal(stdout);
  const std::string shown = terminal ? llm::escape_control(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

}  // namespace examples
