// Tokens that are looked for in the text itself, before anything is split: special tokens, and words that were added to a vocabulary.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/text_range.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// One such token and how it is matched, in the words of tokenizer.json.
struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  ///< not inside a word
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< looked for in the normalised text, and in its normalised form
  bool special = false;      ///< no text: left out by decode(ids, true), and text like any other without parse_special
};

namespace detail::bpe {

/// Strings looked for at one place of a text, the longest first.
class PrefixTree {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  PrefixTree() { root_.fill(none); }
  /// `value` of the string that was inserted last stands.
  void insert(std::string_view key, std::uint32_t value) {
    std::uint32_t* link = &root_[static_cast<unsigned char>(key[0])];
    for (std::size_t at = 0;; ++at) {
      while (*link != none && nodes_[*link].byte != key[at]) link = &nodes_[*link].sibling;
      if (*link == none) {
        *link = static_cast<std::uint32_t>(nodes_.size());
        const auto place = *link;  // the next line may move the node that `link` lies in
        nodes_.push_back({key[at], none, none, none});
        if (at + 1 == key.size()) return void(nodes_[place].value = value);
        link = &nodes_[place].child;
      } else {
        Node& node = nodes_[*link];
        if (at + 1 == key.size()) return void(node.value = value);
        link = &node.child;
      }
    }
  }
  /// The value of the longest string that stands at `at` and for which counts(value, length) is true, and its length; `none` when no
  /// string does. Adds what it took to `steps`.
  template <class F>
  std::pair<std::uint32_t, std::size_t> longest(std::string_view text, std::size_t at, std::size_t& steps, F&& counts) const {
    std::pair<std::uint32_t, std::size_t> best{none, 0};
    std::uint32_t node = root_[static_cast<unsigned char>(text[at])];
    for (std::size_t size = 0; node != none && at + size < text.size(); ++steps) {
      if (nodes_[node].byte != text[at + size]) {
        node = nodes_[node].sibling;
        continue;
      }
      ++size;
      if (nodes_[node].value != none && counts(nodes_[node].value, size)) best = {nodes_[node].value, size};
      node = nodes_[node].child;
    }
    return best;
  }

 private:
  struct Node {
    char byte;
    std::uint32_t child, sibling, value;
  };
  std::array<std::uint32_t, 256> root_;
  std::vector<Node> nodes_;
};

}  // namespace detail::bpe

/// Where in a text special tokens are looked for: nowhere, or outside of its plain ranges.
class SpecialPlaces {
 public:
  explicit SpecialPlaces(bool anywhere, std::span<const TextRange> plain = {}) : anywhere_(anywhere), plain_(plain) {}

  bool none() const { return !anywhere_; }
  /// Whether [begin, end) touches a plain range.
  bool is_plain(std::size_t begin, std::size_t end) const {
    if (!anywhere_ || plain_.empty()) return false;
    const auto next = std::upper_bound(plain_.begin(), plain_.end(), begin, [](std::size_t at, const TextRange& r) { return at < r.end; });
    return next != plain_.end() && next->begin < end;
  }
  /// The plain ranges of [begin, end), counted from `begin`.
  std::vector<TextRange> plain_in(std::size_t begin, std::size_t end) const {
    std::vector<TextRange> inside;
    auto next = std::upper_bound(plain_.begin(), plain_.end(), begin, [](std::size_t at, const TextRange& r) { return at < r.end; });
    for (; next != plain_.end() && next->begin < end; ++next)
      inside.push_back({(std::max)(next->begin, begin) - begin, (std::min)(next->end, end) - begin});
    return inside;
  }

 private:
  bool anywhere_;
  std::span<const TextRange> plain_;
};

/// All added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  // Models of speech and images have some ten thousand numbered tokens, which begin alike.
  static constexpr std::size_t max_count = std::size_t{1} << 16;
  static constexpr std::size_t max_token_bytes = std::size_t{1} << 16;  ///< longest token
  static constexpr std::size_t max_text_bytes = std::size_t{1} << 20;   ///< all of them together
  static constexpr std::size_t max_nodes = std::size_t{1} << 17;        ///< bytes of all, what begins alike once

  /// Throws ValueError for more than the limits: of tokens that are not kept yet.
  static void check_limits(std::vector<std::string_view> contents) {
    if (contents.size() > max_count) throw ValueError(detail::concat(contents.size(), " added tokens, the limit is ", max_count));
    std::sort(contents.begin(), contents.end());
    std::size_t bytes = 0, nodes = 0;
    std::string_view before;
    for (const std::string_view content : contents) {
      const auto fail = [&](const auto&... reason) {
        throw ValueError(detail::concat("added token ", detail::in_quotes(content), " ", reason...));
      };
      if (content.size() > max_token_bytes) fail("is longer than ", max_token_bytes, " bytes");
      const auto differ = std::mismatch(content.begin(), content.end(), before.begin(), before.end());
      nodes += static_cast<std::size_t>(content.end() - differ.first);
      if ((bytes += content.size()) > max_text_bytes || nodes > max_nodes) fail("makes all added tokens together too long");
      before = content;
    }
  }

  /// Throws ValueError for an empty token, for an id or a spelling that occurs twice, and for more than the limits.
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    by_content_.resize(tokens_.size());
    std::iota(by_content_.begin(), by_content_.end(), 0u);
    std::sort(by_content_.begin(), by_content_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return std::tie(tokens_[a].content, a) < std::tie(tokens_[b].content, b); });
    for (std::size_t i = 1; i < by_content_.size(); ++i) {
      const AddedToken &token = tokens_[by_content_[i]], &before = tokens_[by_content_[i - 1]];
      if (token.content == before.content && !token.content.empty())
        throw ValueError(detail::concat("added token ", detail::in_quotes(token.content), " of id ", token.id, " occurs twice"));
    }
    forms_.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const AddedToken& token = tokens_[i];
      const auto fail = [&](std::string_view reason) {
        throw ValueError(detail::concat("added token ", detail::in_quotes(token.content), " of id ", token.id, " ", reason));
      };
      if (token.content.empty()) fail("is empty");
      if (i > 0 && tokens_[i - 1].id == token.id) fail("has the id of another");
      forms_.push_back(token.normalized ? normalizer(token.content) : token.content);
      if (forms_.back().empty()) fail("is empty once it is normalised");
      normalized_special_ = normalized_special_ || (token.normalized && token.special);
    }
    check_limits({forms_.begin(), forms_.end()});
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      (tokens_[i].normalized ? normalized_ : raw_).insert(forms_[i], static_cast<std::uint32_t>(i));
  }

  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* find(std::int32_t id) const {
    const auto place = std::lower_bound(tokens_.begin(), tokens_.end(), id, [](const AddedToken& t, std::int32_t i) { return t.id < i; });
    return place == tokens_.end() || place->id != id ? nullptr : &*place;
  }
  const AddedToken* find(std::string_view content) const {
    const auto place = std::lower_bound(by_content_.begin(), by_content_.end(), content,
                                        [&](std::uint32_t at, std::string_view wanted) { return tokens_[at].content < wanted; });
    return place == by_content_.end() || tokens_[*place].content != content ? nullptr : &tokens_[*place];
  }
  /// Whether special tokens are looked for in normalised texts.
  bool has_normalized_special() const { return normalized_special_; }
  /// How the token stands in a normalised text.
  const std::string& form(const AddedToken& token) const { return forms_[static_cast<std::size_t>(&token - tokens_.data())]; }

  /// Cuts a text at its added tokens, the leftmost and of these the longest first: calls on_text(begin, end) for what lies between and
  /// on_token(id) for each. `normalized` says which tokens are looked for; special ones only where `special` has them. Throws ValueError
  /// when that takes too long.
  template <class OnText, class OnToken>
  void cut(std::string_view text, bool normalized, const SpecialPlaces& special, OnText&& on_text, OnToken&& on_token) const {
    const detail::bpe::PrefixTree& tree = normalized ? normalized_ : raw_;
    std::size_t steps = 0;
    std::size_t done = 0, white_until = 0;  // white space that a token has taken ends there
    for (std::size_t at = 0; at < text.size();) {
      // What only looks like a special token may have another at its beginning, or inside of it.
      const auto [which, size] = tree.longest(text, at, steps, [&](std::uint32_t token, std::size_t length) {
        return !tokens_[token].special || !special.is_plain(at, at + length);
      });
      if (steps > free_steps + steps_a_byte * text.size())
        throw ValueError("llm::Tokenizer::encode: the added tokens take too long to look for: they are made to be slow");
      if (which == detail::bpe::PrefixTree::none) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[which];
      std::size_t begin = at, end = at + size;
      at = end;
      if ((token.special && special.none()) || (token.single_word && touches_word(text, begin, end))) continue;
      while (token.lstrip && begin > done && white_space_before(text, begin) > 0) begin -= white_space_before(text, begin);
      if (token.rstrip) end = white_until = end_of_white_space(text, (std::max)(end, white_until));
      if (begin > done) on_text(done, begin);
      on_token(token.id);
      done = end;  // white space that was taken may begin another token all the same
    }
    if (done < text.size()) on_text(done, text.size());
  }

 private:
  // What honest tokens need for a text lies far below.
  static constexpr std::size_t free_steps = 1'000'000, steps_a_byte = 256;

  static std::size_t white_space_at(std::string_view text, std::size_t at) {
    const Utf8Step step = read_utf8(text, at);
    return is_white_space(step.code_point) ? step.length : 0;
  }
  static std::size_t end_of_white_space(std::string_view text, std::size_t at) {
    while (at < text.size() && white_space_at(text, at) > 0) at += white_space_at(text, at);
    return at;
  }
  static std::size_t before(std::string_view text, std::size_t at) {
    std::size_t begin = at - 1;
    while ((static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) --begin;
    return begin;
  }
  static std::size_t white_space_before(std::string_view text, std::size_t at) {
    return white_space_at(text, before(text, at)) > 0 ? at - before(text, at) : 0;
  }
  static bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
    return (begin > 0 && is_word_character(read_utf8(text, before(text, begin)).code_point)) ||
           (end < text.size() && is_word_character(read_utf8(text, end).code_point));
  }

  std::vector<AddedToken> tokens_;         // by id
  std::vector<std::string> forms_;         // of each, in the same order
  std::vector<std::uint32_t> by_content_;  // numbers of tokens, in the order of their contents
  detail::bpe::PrefixTree raw_, normalized_;
  bool normalized_special_ = false;
};

}  // namespace llm
