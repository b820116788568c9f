// How far from its place an entry of a hash table stands. Files choose the keys, and keys made to collide must not make a lookup slow.
#pragma once

#include <algorithm>
#include <cstddef>

#include <llm/core/error.hpp>

namespace llm::detail::bpe {

/// The longest walk of a table with open addressing: a lookup need not go on for longer, however many slots in a row are taken.
class ProbeLength {
 public:
  std::size_t longest() const { return longest_; }
  void add(std::size_t steps) { longest_ = (std::max)(longest_, steps); }

  /// Throws ValueError for a walk that no honest keys come near, in a table that is at most five eighths full.
  static void check(std::size_t steps) {
    constexpr std::size_t most = 1024;
    if (steps > most) throw ValueError("more than a thousand tokens or merges have the same hash value: the file is made to be slow");
  }

 private:
  std::size_t longest_ = 0;
};

}  // namespace llm::detail::bpe
