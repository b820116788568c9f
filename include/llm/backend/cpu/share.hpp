// The pieces of a loop that wait for a thread, and waiting for a change.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <llm/detail/thread.hpp>

namespace llm::cpu {

/// Pieces [begin, end) of a loop that members 0 to members - 1 of a team may take, in one word: whoever changes it owns what the change
/// took out.
class Share {
 public:
  static constexpr std::int64_t most_pieces = (std::int64_t{1} << 24) - 1, most_members = (std::int64_t{1} << 16) - 1;

  void put(std::int64_t begin, std::int64_t end, std::int64_t members) {
    word_.store(Word{begin, end, members}.packed(), std::memory_order_release);
  }

  enum class End { front, back };

  /// Takes one piece for a member; -1 when there is none.
  std::int64_t take(End where, std::int64_t member) {
    std::uint64_t packed = word_.load(std::memory_order_relaxed);
    for (;;) {
      Word word(packed);
      if (word.begin == word.end || member >= word.members) return -1;
      const std::int64_t piece = where == End::front ? word.begin++ : --word.end;
      if (word_.compare_exchange_weak(packed, word.packed(), std::memory_order_acquire, std::memory_order_relaxed)) return piece;
    }
  }

  /// Takes all pieces and says how many there were.
  std::int64_t take_all() {
    const Word word(word_.exchange(0, std::memory_order_acquire));
    return word.end - word.begin;
  }

 private:
  struct Word {
    std::int64_t begin, end, members;
    Word(std::int64_t first, std::int64_t last, std::int64_t count) : begin(first), end(last), members(count) {}
    explicit Word(std::uint64_t packed)
        : begin(static_cast<std::int64_t>(packed >> 40)),
          end(static_cast<std::int64_t>(packed >> 16) & most_pieces),
          members(static_cast<std::int64_t>(packed) & most_members) {}
    std::uint64_t packed() const {
      return static_cast<std::uint64_t>(begin) << 40 | static_cast<std::uint64_t>(end) << 16 | static_cast<std::uint64_t>(members);
    }
  };

  std::atomic<std::uint64_t> word_{0};
};

/// How long a thread looks for a change before it sleeps; waking it takes about as long.
inline constexpr std::int64_t spin_nanoseconds = 50'000;

/// Whether the word gets another value than `old` within spin_nanoseconds.
inline bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t old) {
  const auto nanoseconds = [] {
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  };
  const std::int64_t start = nanoseconds();
  for (std::int64_t elapsed = 0; elapsed >= 0 && elapsed < spin_nanoseconds; elapsed = nanoseconds() - start)
    for (int i = 0; i < 16; ++i) {
      if (word.load(std::memory_order_acquire) != old) return true;
      detail::relax_core();
    }
  return false;
}

}  // namespace llm::cpu
