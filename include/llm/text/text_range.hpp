// A part of a text, by its bytes.
#pragma once

#include <cstddef>

namespace llm {

/// The bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

}  // namespace llm
