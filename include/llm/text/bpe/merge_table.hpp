// The merges of a BPE vocabulary: which pairs of tokens join, in what order, and to what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <llm/text/bpe/probe_length.hpp>

namespace llm::detail::bpe {

/// What a pair becomes. A lower rank goes first.
struct Merge {
  static constexpr std::uint32_t never = 0xffffffffu;
  std::uint32_t rank = never;
  std::int32_t id = -1;
};

/// Pairs of ids to merges, by open addressing: a text of a million letters asks some millions of times.
class MergeTable {
 public:
  MergeTable() = default;
  /// Room for this many merges.
  explicit MergeTable(std::size_t count) {
    while (slots_.size() < 2 * count) grow();
  }

  /// A pair that is there already gets the new merge. Throws ValueError for pairs that were made to be slow.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key_of(left, right))];
    if (slot.merge.rank == Merge::never) ++count_;
    slot = {key_of(left, right), merge};
  }

  /// The merge of a pair; its rank is `never` when the two do not join.
  Merge find(std::int32_t left, std::int32_t right) const {
    if (slots_.empty()) return {};
    const std::uint64_t key = key_of(left, right);
    std::size_t at = home_of(key);
    for (std::size_t steps = 0; steps <= walk_.longest() && slots_[at].merge.rank != Merge::never; ++steps, at = next(at))
      if (slots_[at].key == key) return slots_[at].merge;
    return {};
  }

  std::size_t size() const { return count_; }
  /// Calls f(left, right, merge) for each, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_)
      if (slot.merge.rank != Merge::never)
        f(static_cast<std::int32_t>(slot.key >> 32), static_cast<std::int32_t>(slot.key & 0xffffffffu), slot.merge);
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge;  // of rank `never`: free
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  /// Ids are small numbers that a file chooses, so all their bits are mixed (splitmix64's finisher).
  std::size_t home_of(std::uint64_t key) const {
    std::uint64_t h = key;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>(h ^ h >> 31) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  /// Where the key stands or is to stand.
  std::size_t place_of(std::uint64_t key) {
    std::size_t at = home_of(key), steps = 0;
    for (; slots_[at].merge.rank != Merge::never && slots_[at].key != key; at = next(at)) walk_.check(++steps);
    walk_.add(steps);
    return at;
  }
  void grow() {
    std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    walk_ = {};
    for (const Slot& slot : before)
      if (slot.merge.rank != Merge::never) slots_[place_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  // at most half full
  std::size_t count_ = 0;
  ProbeLength walk_;
};

}  // namespace llm::detail::bpe
