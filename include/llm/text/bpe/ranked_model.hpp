// BPE by a list of merges: byte-level (GPT-2, Llama 3, Qwen) and by characters with byte fallback (Llama 2's tokenizer.json).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/byte_alphabet.hpp>
#include <llm/text/bpe/byte_tokens.hpp>
#include <llm/text/bpe/symbols.hpp>
#include <llm/text/bpe/vocabulary.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// How a BPE model reads a word.
struct RankedOptions {
  bool byte_level = false;     ///< tokens are spelled in the byte alphabet: a word's symbols are its bytes, not its characters
  bool ignore_merges = false;  ///< a word that is a token becomes that, whatever the merges say
  bool byte_fallback = false;  ///< a character that is no token becomes its bytes' tokens <0x00> .. <0xFF>
  bool fuse_unknown = false;   ///< unknown characters side by side become one unknown token
  std::optional<std::int32_t> unknown_id = {};
};

/// Turns words into ids by merging pairs of tokens, the lowest rank first.
class RankedModel {
 public:
  RankedModel() = default;
  RankedModel(const Vocabulary& vocabulary, detail::bpe::MergeTable merges, const RankedOptions& options)
      : merges_(std::move(merges)), options_(options), byte_ids_(detail::bpe::byte_token_ids(vocabulary)) {
    if (!options.byte_level) return;
    for (unsigned byte = 0; byte < 256; ++byte)
      byte_ids_[byte] = vocabulary.find(encode_utf8(detail::bpe::byte_alphabet.character[byte])).value_or(-1);
  }

  const RankedOptions& options() const { return options_; }
  const detail::bpe::MergeTable& merges() const { return merges_; }

  /// Appends the ids of a word, valid UTF-8. Throws ValueError for a character that has none, not even an unknown one: to leave it out
  /// would lose text.
  void encode_word(const Vocabulary& vocabulary, std::string_view word, detail::bpe::Symbols& symbols,
                   std::vector<std::int32_t>& ids) const {
    if (options_.ignore_merges)
      if (const auto whole = find_word(vocabulary, word)) return ids.push_back(*whole);
    symbols.clear();
    if (options_.byte_level)
      add_bytes(word, symbols);
    else
      add_characters(vocabulary, word, symbols);
    symbols.merge_all([&](const detail::bpe::Symbol& left, const detail::bpe::Symbol& right) { return merges_.find(left.id, right.id); });
    symbols.for_each([&](const detail::bpe::Symbol& symbol) { ids.push_back(symbol.id); });
  }

 private:
  std::optional<std::int32_t> find_word(const Vocabulary& vocabulary, std::string_view word) const {
    if (!options_.byte_level) return vocabulary.find(word);
    if (word.size() > vocabulary.longest()) return {};  // a byte takes one letter of at least a byte
    std::string spelled;
    detail::bpe::append_alphabet(spelled, word);
    return vocabulary.find(spelled);
  }

  void add_bytes(std::string_view word, detail::bpe::Symbols& symbols) const {
    for (std::size_t at = 0; at < word.size(); ++at) {
      const std::int32_t id = byte_ids_[static_cast<unsigned char>(word[at])];
      symbols.add(static_cast<std::uint32_t>(at), 1, id >= 0 ? id : unknown(word.substr(at, 1)));
    }
  }

  void add_characters(const Vocabulary& vocabulary, std::string_view word, detail::bpe::Symbols& symbols) const {
    std::size_t unknown_from = 0, unknown_size = 0;  // unknown characters that wait to be one token
    const auto end_unknown = [&] {
      if (unknown_size > 0)
        symbols.add(static_cast<std::uint32_t>(unknown_from), static_cast<std::uint32_t>(unknown_size), *options_.unknown_id);
      unknown_size = 0;
    };
    for (std::size_t at = 0, size = 0; at < word.size(); at += size) {
      size = read_utf8(word, at).length;
      const std::string_view character = word.substr(at, size);
      if (const auto id = vocabulary.find(character)) {
        end_unknown();
        symbols.add(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size), *id);
      } else if (options_.byte_fallback && has_bytes(character)) {
        end_unknown();
        for (std::size_t i = at; i < at + size; ++i)
          symbols.add(static_cast<std::uint32_t>(i), 1, byte_ids_[static_cast<unsigned char>(word[i])]);
      } else {
        unknown(character);
        if (!options_.fuse_unknown) end_unknown();
        if (unknown_size == 0) unknown_from = at;
        unknown_size += size;
      }
    }
    end_unknown();
  }

  bool has_bytes(std::string_view character) const {
    for (const char byte : character)
      if (byte_ids_[static_cast<unsigned char>(byte)] < 0) return false;
    return true;
  }
  std::int32_t unknown(std::string_view part) const {
    if (options_.unknown_id) return *options_.unknown_id;
    const bool text = find_invalid_utf8(part) == std::string_view::npos;
    throw ValueError(detail::concat(
        "llm::Tokenizer::encode: the vocabulary has no token for ",
        text ? detail::in_quotes(part) : detail::concat("the byte ", static_cast<unsigned>(static_cast<unsigned char>(part[0]))),
        " and no unknown token"));
  }

  detail::bpe::MergeTable merges_;
  RankedOptions options_;
  std::array<std::int32_t, 256> byte_ids_{};  // of the byte alphabet, or of byte fallback
};

}  // namespace llm
