// BPE by scores, as SentencePiece has it: two neighbours join when together they are a token, the highest score first.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/byte_tokens.hpp>
#include <llm/text/bpe/symbols.hpp>
#include <llm/text/bpe/vocabulary.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// Turns words into ids by the tokens' scores. Characters that are no token become byte tokens where the vocabulary has all of them,
/// else one unknown token for each run.
/// Source: SentencePiece's model type "bpe" (arXiv:1808.06226).
class ScoredModel {
 public:
  ScoredModel() = default;
  /// `scores` of every id; `mergeable` says which tokens text may become: not control, unknown and byte tokens. Throws ValueError for a
  /// score that is not a number.
  ScoredModel(const Vocabulary& vocabulary, std::span<const float> scores, const std::vector<bool>& mergeable,
              std::optional<std::int32_t> unknown_id)
      : unknown_id_(unknown_id), byte_ids_(detail::bpe::byte_token_ids(vocabulary)) {
    std::vector<float> distinct(scores.begin(), scores.end());
    for (const float score : distinct)
      if (std::isnan(score)) throw ValueError("a token's score is not a number");
    std::sort(distinct.begin(), distinct.end(), std::greater<>());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (std::size_t id = 0; id < scores.size(); ++id) {
      const auto place = std::lower_bound(distinct.begin(), distinct.end(), scores[id], std::greater<>());
      ranks_.push_back(mergeable[id] ? static_cast<std::uint32_t>(place - distinct.begin()) : detail::bpe::Merge::never);
    }
  }

  /// The place of a token's score among all of them, 0 for the highest; Merge::never for one that text does not become.
  std::uint32_t rank(std::int32_t id) const { return ranks_[static_cast<std::size_t>(id)]; }
  std::optional<std::int32_t> unknown_id() const { return unknown_id_; }

  /// Appends the ids of a word, valid UTF-8. Throws ValueError for a character that has none, not even an unknown one.
  void encode_word(const Vocabulary& vocabulary, std::string_view word, detail::bpe::Symbols& symbols,
                   std::vector<std::int32_t>& ids) const {
    symbols.clear();
    for (std::size_t at = 0, size = 0; at < word.size(); at += size) {
      size = read_utf8(word, at).length;
      symbols.add(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size), find(vocabulary, word.substr(at, size)).id);
    }
    symbols.merge_all([&](const detail::bpe::Symbol& left, const detail::bpe::Symbol& right) {
      return find(vocabulary, word.substr(left.begin, left.size + right.size));
    });
    bool after_unknown = false;
    symbols.for_each([&](const detail::bpe::Symbol& symbol) {
      const bool unknown = symbol.id < 0 && !append_bytes(word.substr(symbol.begin, symbol.size), ids);
      if (unknown && !unknown_id_)
        throw ValueError(detail::concat("llm::Tokenizer::encode: the vocabulary has no token for ",
                                        detail::in_quotes(word.substr(symbol.begin, symbol.size)), " and no unknown token"));
      if (symbol.id >= 0) ids.push_back(symbol.id);
      if (unknown && !after_unknown) ids.push_back(*unknown_id_);
      after_unknown = unknown;
    });
  }

 private:
  /// The token that a text may become and its rank, if there is one.
  detail::bpe::Merge find(const Vocabulary& vocabulary, std::string_view text) const {
    const auto id = vocabulary.find(text);
    if (!id || ranks_[static_cast<std::size_t>(*id)] == detail::bpe::Merge::never) return {};
    return {ranks_[static_cast<std::size_t>(*id)], *id};
  }

  bool append_bytes(std::string_view character, std::vector<std::int32_t>& ids) const {
    for (const char byte : character)
      if (byte_ids_[static_cast<unsigned char>(byte)] < 0) return false;
    for (const char byte : character) ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    return true;
  }

  std::vector<std::uint32_t> ranks_;  // of each id: 0 for the highest score
  std::optional<std::int32_t> unknown_id_;
  std::array<std::int32_t, 256> byte_ids_{};
};

}  // namespace llm
