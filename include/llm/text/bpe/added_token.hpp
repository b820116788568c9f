// One added token, and a list of very many of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>

namespace llm {

/// A token that is looked for in the text itself, and how it is matched, in the words of tokenizer.json.
struct AddedToken {
  std::int32_t id = 0;
  std::string_view content = {};  ///< a list that takes the token copies it
  bool single_word = false;       ///< not inside a word
  bool lstrip = false;            ///< takes the white space before it
  bool rstrip = false;            ///< takes the white space after it
  bool normalized = false;        ///< looked for in the normalised text, and in its normalised form
  bool special = false;           ///< no text: left out by decode(ids, true), and text like any other without parse_special
};

/// Added tokens in flat arrays: models of speech have more than a hundred thousand, numbered.
class AddedTokenList {
 public:
  static constexpr std::size_t max_count = (std::size_t{1} << 17) + (std::size_t{1} << 13);  ///< 131,072 and others beside them
  static constexpr std::size_t max_token_bytes = std::size_t{1} << 16;                       ///< longest token
  static constexpr std::size_t max_bytes = std::size_t{1} << 22;                             ///< of memory for all

  AddedTokenList() = default;
  AddedTokenList(std::initializer_list<AddedToken> tokens) {
    for (const AddedToken& token : tokens) push_back(token);
  }

  /// Throws ValueError for an empty token and for more than the limits.
  void push_back(const AddedToken& token) {
    if (entries_.size() >= max_count) throw ValueError(detail::concat("there are more than ", max_count, " added tokens"));
    const auto fail = [&](const auto&... reason) {
      throw ValueError(detail::concat("added token ", detail::in_quotes(token.content), " ", reason...));
    };
    if (token.content.empty()) throw ValueError(detail::concat("added token '' of id ", token.id, " is empty"));
    if (token.content.size() > max_token_bytes) fail("is longer than ", max_token_bytes, " bytes");
    if (bytes() + sizeof(Entry) + token.content.size() > max_bytes) fail("makes all added tokens together too long");
    if (entries_.size() == many) {  // room for the most at once: pages that are not touched cost nothing, copies while growing would
      entries_.reserve(max_count);
      texts_.reserve(max_bytes);
    }
    entries_.push_back({token.id, static_cast<std::uint32_t>(texts_.size()), packed(token)});
    texts_ += token.content;
  }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// Of memory, as max_bytes limits it.
  std::size_t bytes() const { return sizeof(Entry) * entries_.size() + texts_.size(); }

  /// The token's content is valid as long as the list does not change.
  AddedToken operator[](std::size_t i) const {
    const Entry& e = entries_[i];
    const auto has = [&](unsigned flag) { return (e.size_and_flags >> flag & 1) != 0; };
    return {e.id, content(i), has(0), has(1), has(2), has(3), has(4)};
  }
  AddedToken back() const { return (*this)[size() - 1]; }
  std::int32_t id(std::size_t i) const { return entries_[i].id; }
  std::string_view content(std::size_t i) const {
    return std::string_view(texts_).substr(entries_[i].begin, entries_[i].size_and_flags >> flags);
  }

  class iterator {
   public:
    iterator(const AddedTokenList& list, std::size_t at) : list_(&list), at_(at) {}
    AddedToken operator*() const { return (*list_)[at_]; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    const AddedTokenList* list_;
    std::size_t at_;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size()}; }

  /// Puts the tokens in the order of their ids, those of one id in the order in which they came.
  void sort_by_id() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.id != b.id ? a.id < b.id : a.begin < b.begin;  // texts stand in the order of coming
    });
  }
  /// Sorts, and leaves the last of each id, which is special if one of them was.
  void keep_last_of_each_id() {
    sort_by_id();
    std::size_t kept = 0;
    for (const Entry& entry : entries_) {
      const bool again = kept > 0 && entries_[kept - 1].id == entry.id;
      const std::uint32_t special = again ? entries_[kept - 1].size_and_flags & special_flag : 0;
      kept += again ? 0 : 1;
      entries_[kept - 1] = {entry.id, entry.begin, entry.size_and_flags | special};
    }
    entries_.resize(kept);
  }

 private:
  static constexpr std::size_t many = 4096;
  static constexpr unsigned flags = 5;
  static constexpr std::uint32_t special_flag = 1u << 4;
  struct Entry {
    std::int32_t id = 0;
    std::uint32_t begin = 0, size_and_flags = 0;
  };
  static std::uint32_t packed(const AddedToken& t) {
    std::uint32_t out = static_cast<std::uint32_t>(t.content.size()) << flags | (t.special ? special_flag : 0);
    const bool others[] = {t.single_word, t.lstrip, t.rstrip, t.normalized};
    for (unsigned i = 0; i < 4; ++i) out |= static_cast<std::uint32_t>(others[i]) << i;
    return out;
  }

  std::vector<Entry> entries_;
  std::string texts_;
};

}  // namespace llm
