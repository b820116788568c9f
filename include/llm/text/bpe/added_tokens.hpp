// Tokens that are looked for in the text itself, before anything is split: special tokens, and words that were added to a vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/added_token.hpp>
#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/bpe/prefix_order.hpp>
#include <llm/text/text_range.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

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

  /// Throws as check() does.
  AddedTokens(AddedTokenList tokens, const Normalizer& normalizer) : tokens_(std::move(tokens)) {
    check(tokens_, normalizer);
    add_forms(normalizer);
    by_content_ = in_order_of_contents(tokens_);
    std::vector<std::uint32_t> raw, normalized;
    for (std::uint32_t i = 0; i < tokens_.size(); ++i) (tokens_[i].normalized ? normalized : raw).push_back(i);
    raw_ = {std::move(raw), Form{*this}};
    normalized_ = {std::move(normalized), Form{*this}};
  }

  /// Puts the tokens in the order of their ids. Throws ValueError for an id or a spelling that occurs twice, and for normalised forms that
  /// are nothing or, together, too long.
  static void check(AddedTokenList& tokens, const Normalizer& normalizer) {
    tokens.sort_by_id();
    for (std::size_t i = 1; i < tokens.size(); ++i)
      if (tokens.id(i) == tokens.id(i - 1)) fail(tokens, i, "has the id of another");
    const std::vector<std::uint32_t> order = in_order_of_contents(tokens);
    for (std::size_t i = 1; i < order.size(); ++i)
      if (tokens.content(order[i]) == tokens.content(order[i - 1])) fail(tokens, order[i], "occurs twice");
    std::size_t bytes = tokens.bytes();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!has_form(tokens[i], normalizer)) continue;
      const std::string form = normalizer(tokens.content(i));
      if (form.empty()) fail(tokens, i, "is empty once it is normalised");
      if ((bytes += form.size()) > AddedTokenList::max_bytes)
        fail(tokens, i, "makes the normalised forms of all added tokens together too long");
    }
  }

  const AddedTokenList& all() const { return tokens_; }
  /// The contents are valid as long as this object.
  std::optional<AddedToken> find(std::int32_t id) const {
    const std::size_t at = place_of(id);
    if (at == tokens_.size()) return {};
    return tokens_[at];
  }
  std::optional<AddedToken> find(std::string_view content) const {
    const auto place = std::lower_bound(by_content_.begin(), by_content_.end(), content,
                                        [&](std::uint32_t at, std::string_view wanted) { return tokens_.content(at) < wanted; });
    if (place == by_content_.end() || tokens_.content(*place) != content) return {};
    return tokens_[*place];
  }
  /// Whether special tokens are looked for in normalised texts.
  bool has_normalized_special() const { return normalized_special_; }
  /// How the token of this id, which must be one, stands in a normalised text.
  std::string_view form(std::int32_t id) const { return form_at(place_of(id)); }

  /// Cuts a text at its added tokens, the leftmost and of these the longest first: calls on_text(begin, end) for what lies between and
  /// on_token(id) for each. `normalized` says which tokens are looked for; special ones only where `special` has them. Throws ValueError
  /// when that takes too long.
  template <class OnText, class OnToken>
  void cut(std::string_view text, bool normalized, const SpecialPlaces& special, OnText&& on_text, OnToken&& on_token) const {
    const detail::bpe::PrefixOrder& order = normalized ? normalized_ : raw_;
    if (order.size() == 0 && !text.empty()) return void(on_text(std::size_t{0}, text.size()));
    std::size_t steps = 0;
    std::size_t done = 0, white_until = 0;  // white space that a token has taken ends there
    for (std::size_t at = 0; at < text.size();) {
      // What only looks like a special token may have another at its beginning, or inside of it.
      std::optional<AddedToken> longest;
      std::size_t size = 0;
      order.for_each_at(text, at, steps, Form{*this}, [&](std::uint32_t which, std::size_t length) {
        const AddedToken found = tokens_[which];
        if (found.special && special.is_plain(at, at + length)) return;
        longest = found;
        size = length;
      });
      if (steps > free_steps + steps_a_byte * text.size())
        throw ValueError("llm::Tokenizer::encode: the added tokens take too long to look for: they are made to be slow");
      if (!longest) {
        ++at;
        continue;
      }
      const AddedToken& token = *longest;
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

  [[noreturn]] static void fail(const AddedTokenList& tokens, std::size_t i, std::string_view reason) {
    throw ValueError(detail::concat("added token ", detail::in_quotes(tokens.content(i)), " of id ", tokens.id(i), " ", reason));
  }
  /// Whether a form is kept beside the content.
  static bool has_form(const AddedToken& token, const Normalizer& normalizer) { return token.normalized && !normalizer.empty(); }
  static std::vector<std::uint32_t> in_order_of_contents(const AddedTokenList& tokens) {
    std::vector<std::uint32_t> order(tokens.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return std::pair(tokens.content(a), a) < std::pair(tokens.content(b), b); });
    return order;
  }
  std::size_t place_of(std::int32_t id) const {
    std::size_t low = 0, high = tokens_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      (tokens_.id(middle) < id ? low : high) = tokens_.id(middle) < id ? middle + 1 : middle;
    }
    return low < tokens_.size() && tokens_.id(low) == id ? low : tokens_.size();
  }

  /// Keeps the forms of those that have one, one behind the other.
  void add_forms(const Normalizer& normalizer) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      normalized_special_ = normalized_special_ || (tokens_[i].normalized && tokens_[i].special);
      if (has_form(tokens_[i], normalizer)) {
        if (form_ends_.empty()) form_ends_.resize(i);
        forms_ += normalizer(tokens_.content(i));
      }
      if (!form_ends_.empty() || !forms_.empty()) form_ends_.push_back(static_cast<std::uint32_t>(forms_.size()));
    }
  }
  std::string_view form_at(std::size_t i) const {
    if (form_ends_.empty()) return tokens_.content(i);
    const std::size_t begin = i == 0 ? 0 : form_ends_[i - 1], end = form_ends_[i];
    return begin == end ? tokens_.content(i) : std::string_view(forms_).substr(begin, end - begin);
  }
  struct Form {
    const AddedTokens& tokens;
    std::string_view operator()(std::uint32_t i) const { return tokens.form_at(i); }
  };

  AddedTokenList tokens_;                  // by id
  std::vector<std::uint32_t> by_content_;  // numbers of tokens, in the order of their contents
  std::string forms_;                      // of tokens that are looked for in normalised texts, one behind the other
  std::vector<std::uint32_t> form_ends_;   // of each token; none where all are their contents
  detail::bpe::PrefixOrder raw_, normalized_;
  bool normalized_special_ = false;
};

}  // namespace llm
