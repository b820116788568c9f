// Byte-pair merging of one word in O(n log n): the best pair first, of equally good ones the leftmost.
// Source: arXiv:1508.07909 (byte-pair encoding); a heap of pairs over a linked list, as in SentencePiece (arXiv:1808.06226).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <llm/text/bpe/merge_table.hpp>

namespace llm::detail::bpe {

/// A part of a word on its way to a token: bytes `begin` .. `begin` + `size` of the word, in a list over the word.
struct Symbol {
  static constexpr std::uint32_t no_symbol = 0xffffffffu;
  std::uint32_t begin, size;  // size 0: merged into a symbol to the left
  std::int32_t id;            // -1: no token
  std::uint32_t left, right;  // neighbours
  Merge merge;                // with the right neighbour
};

/// The symbols of a word, with what is needed to merge them. Used again for the next word, so that no word allocates.
class Symbols {
 public:
  void clear() { symbols_.clear(); }
  void add(std::uint32_t begin, std::uint32_t size, std::int32_t id) {
    const auto at = static_cast<std::uint32_t>(symbols_.size());
    if (at > 0) symbols_.back().right = at;
    symbols_.push_back({begin, size, id, at == 0 ? Symbol::no_symbol : at - 1, Symbol::no_symbol, {}});
  }

  /// Merges all that `merge_of(left, right)`, a Merge, allows.
  template <class MergeOf>
  void merge_all(const MergeOf& merge_of) {
    heap_.clear();
    for (std::uint32_t at = 0; at + 1 < symbols_.size(); ++at)
      if (look(at, merge_of)) heap_.push_back(entry_of(at));
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const std::uint64_t best = heap_.back();
      heap_.pop_back();
      const auto at = static_cast<std::uint32_t>(best);
      // A pair that is gone has left its entry behind.
      if (symbols_[at].size > 0 && symbols_[at].merge.rank != Merge::never && entry_of(at) == best) merge(at, merge_of);
    }
  }

  /// Calls f(symbol) for those that are left, in order.
  template <class F>
  void for_each(F&& f) const {
    for (std::uint32_t at = symbols_.empty() ? Symbol::no_symbol : 0; at != Symbol::no_symbol; at = symbols_[at].right) f(symbols_[at]);
  }

 private:
  /// Rank, then position: the order of the heap.
  std::uint64_t entry_of(std::uint32_t at) const { return std::uint64_t{symbols_[at].merge.rank} << 32 | at; }

  /// Looks up the merge with the right neighbour; whether there is one.
  template <class MergeOf>
  bool look(std::uint32_t at, const MergeOf& merge_of) {
    Symbol& symbol = symbols_[at];
    symbol.merge = symbol.right == Symbol::no_symbol ? Merge() : merge_of(symbol, symbols_[symbol.right]);
    return symbol.merge.rank != Merge::never;
  }
  template <class MergeOf>
  void push(std::uint32_t at, const MergeOf& merge_of) {
    if (!look(at, merge_of)) return;
    heap_.push_back(entry_of(at));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  template <class MergeOf>
  void merge(std::uint32_t at, const MergeOf& merge_of) {
    Symbol& left = symbols_[at];
    Symbol& right = symbols_[left.right];
    left.id = left.merge.id;
    left.size += right.size;
    right.size = 0;
    left.right = right.right;
    if (left.right != Symbol::no_symbol) symbols_[left.right].left = at;
    push(at, merge_of);
    if (left.left != Symbol::no_symbol) push(left.left, merge_of);
  }

  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> heap_;
};

}  // namespace llm::detail::bpe
