// What a thread that waits for work brings into its cache meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <llm/detail/platform.hpp>

namespace llm::cpu {

/// The order in which a helper of a team reads blocks of weights. A decode step reads the same ones as the step before, so what followed a
/// block the last time will probably follow it again: while the others are busy with what lies between two products, the helper fetches
/// the beginning of its part of the next one. Wrong guesses cost time only: fetching faults at no address.
class ReadAhead {
 public:
  /// How much is fetched: less than a core's second cache holds.
  static constexpr std::size_t most_bytes = 192 * 1024;

  /// A loop begins.
  void begin_loop() { first_piece_ = true; }

  /// The loop reads memory from `first` on, up to `end` at most. The first piece of a loop counts.
  void reads(const void* first, const void* end) {
    if (!first_piece_) return;
    first_piece_ = false;
    const Range range{reinterpret_cast<std::uintptr_t>(first), reinterpret_cast<std::uintptr_t>(end)};
    entry(last_) = {last_, range};
    last_ = range.begin;
    const Entry& known = entry(last_);
    next_ = known.after == last_ ? known.range : Range{};
    next_.end = (std::min)(next_.end, next_.begin + most_bytes);
  }

  /// Fetches some lines of what probably comes next; false when there are none left.
  bool fetch_some() {
    constexpr std::size_t line = 64, some = 8;
    for (std::size_t i = 0; i < some && next_.begin < next_.end; ++i, next_.begin += line)
      detail::prefetch(reinterpret_cast<const void*>(next_.begin));
    return next_.begin < next_.end;
  }

  /// Bytes that are still to be fetched, and from where.
  std::size_t bytes_left() const { return next_.begin < next_.end ? next_.end - next_.begin : 0; }
  std::uintptr_t next() const { return next_.begin; }

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  struct Entry {
    std::uintptr_t after = 0;  // the block that was read before
    Range range;
  };

  /// Where the successor of a block stands. Two blocks may share a place; the one that was read last has it.
  Entry& entry(std::uint64_t block) { return entries_[(block >> 6) * 0x9e3779b97f4a7c15u >> 54]; }

  std::array<Entry, 1024> entries_{};
  std::uintptr_t last_ = 0;
  Range next_;
  bool first_piece_ = true;
};

}  // namespace llm::cpu
