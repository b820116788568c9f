// A tokenizer whose tokens are the characters (Unicode code points) of a training text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// Ids 0 .. vocab_size() - 1 stand for the distinct code points of a text in ascending order. decode(encode(x)) == x for every
/// text of known characters. characters() is its whole state, as text: what a checkpoint stores.
class CharTokenizer {
 public:
  /// The characters that occur in `text`. Throws ValueError when it is empty or not valid UTF-8 (with the byte offset).
  static CharTokenizer from_text(std::string_view text) {
    std::vector<bool> seen(0x110000);
    for_each_character(text, [&](char32_t c, std::size_t) { seen[c] = true; });
    std::u32string characters;
    for (std::size_t c = 0; c < seen.size(); ++c)
      if (seen[c]) characters.push_back(static_cast<char32_t>(c));
    return CharTokenizer(std::move(characters));
  }

  /// The tokenizer whose characters() these are. Throws ValueError when they are not in strictly ascending order.
  static CharTokenizer from_characters(std::string_view characters) {
    std::u32string decoded = decode_utf8(characters);
    const auto wrong = std::adjacent_find(decoded.begin(), decoded.end(), [](char32_t a, char32_t b) { return a >= b; });
    if (wrong != decoded.end())
      throw ValueError(detail::concat("llm::CharTokenizer::from_characters: ", name_of(*(wrong + 1)), " follows ", name_of(*wrong),
                                      ", but the characters must ascend"));
    return CharTokenizer(std::move(decoded));
  }

  /// The vocabulary in the order of the ids, as UTF-8.
  std::string characters() const {
    std::string text;
    for (const char32_t c : characters_) append_utf8(text, c);
    return text;
  }

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(characters_.size()); }

  /// One id for each character. Throws ValueError naming a character that the vocabulary lacks, or invalid UTF-8, and where.
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> ids;
    for_each_character(text, [&](char32_t c, std::size_t at) {
      const auto found = std::lower_bound(characters_.begin(), characters_.end(), c);
      if (found == characters_.end() || *found != c)
        throw ValueError(detail::concat("llm::CharTokenizer::encode: the vocabulary of ", vocab_size(), " characters lacks ", name_of(c),
                                        " at byte ", at));
      ids.push_back(static_cast<std::int32_t>(found - characters_.begin()));
    });
    return ids;
  }

  /// The text that the ids stand for. Throws ValueError when an id is outside 0 .. vocab_size() - 1.
  std::string decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) append_utf8(text, character(id));
    return text;
  }

  /// The text of one id; throws as decode() does.
  std::string decode_one(std::int32_t id) const { return encode_utf8(character(id)); }

  friend bool operator==(const CharTokenizer&, const CharTokenizer&) = default;

 private:
  explicit CharTokenizer(std::u32string characters) : characters_(std::move(characters)) {
    if (characters_.empty()) throw ValueError("llm::CharTokenizer: the text is empty, so there are no characters to learn");
  }

  char32_t character(std::int32_t id) const {
    if (id < 0 || id >= vocab_size())
      throw ValueError(detail::concat("llm::CharTokenizer::decode: id ", id, " is outside 0 .. ", vocab_size() - 1));
    return characters_[static_cast<std::size_t>(id)];
  }

  /// "U+4E2D '中'"; the character itself only where it can be shown.
  static std::string name_of(char32_t c) {
    std::string name = "U+";
    for (int shift = c > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) name += "0123456789ABCDEF"[c >> shift & 0xF];
    if (c > 0x20 && (c < 0x7F || c > 0x9F)) name += " '" + encode_utf8(c) + "'";
    return name;
  }

  std::u32string characters_;
};

}  // namespace llm
