// A byte-pair tokenizer as published models have it: added tokens, normaliser, splits, BPE, special tokens around, decoder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/added_tokens.hpp>
#include <llm/text/bpe/decoder.hpp>
#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/bpe/pre_tokenizer.hpp>
#include <llm/text/bpe/ranked_model.hpp>
#include <llm/text/bpe/scored_model.hpp>
#include <llm/text/bpe/vocabulary.hpp>
#include <llm/text/tokenizer.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// The parts of a byte-pair tokenizer: what its file says.
struct BpeParts {
  Vocabulary vocabulary;
  std::variant<RankedModel, ScoredModel> model;
  AddedTokenList added;
  std::int64_t least_ids = 0;  ///< ids from 0 that exist although the last of them may stand for nothing
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  bool added_are_verbatim = false;          ///< the text of an added token is decoded to itself, not read in the byte alphabet
  std::vector<std::int32_t> before, after;  ///< special tokens around a text
  std::optional<std::int32_t> bos_id = {};
  std::vector<std::int32_t> eos_ids = {};
};

/// See Tokenizer for what its functions do. Immutable: many threads may use one.
class BpeTokenizer {
 public:
  static constexpr std::size_t max_text_bytes = std::size_t{1} << 31;  ///< encode() takes less in one call

  /// Throws ValueError when the parts contradict each other: an id outside the vocabulary, an added token at the id of another token.
  explicit BpeTokenizer(BpeParts parts)
      : parts_(std::move(parts)), vocab_size_(validate(parts_)), added_(std::exchange(parts_.added, {}), parts_.normalizer) {}

  /// Checks all but the model, which may be made later, and gives the number of ids; puts the added tokens in the order of their ids.
  /// Throws as the constructor does.
  static std::int64_t validate(BpeParts& parts) {
    std::int64_t ids = (std::max)(parts.vocabulary.size(), parts.least_ids);
    AddedTokens::check(parts.added, parts.normalizer);
    for (const AddedToken& token : parts.added) check_added(parts, token);
    if (!parts.added.empty()) ids = (std::max)(ids, std::int64_t{parts.added.back().id} + 1);
    for (const auto* special : {&parts.before, &parts.after, &parts.eos_ids})
      for (const std::int32_t id : *special) check(id, ids, "a special token");
    if (parts.bos_id) check(*parts.bos_id, ids, "the BOS");
    return ids;
  }

  std::int64_t vocab_size() const { return vocab_size_; }

  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const {
    check_text(text);
    std::vector<std::int32_t> ids;
    if (options.add_special) ids = parts_.before;
    const std::size_t own = ids.size();
    detail::bpe::Symbols symbols;
    const auto on_token = [&](std::int32_t id) { ids.push_back(id); };
    const SpecialPlaces special(options.parse_special, options.plain);
    added_.cut(
        text, false, special,
        [&](std::size_t begin, std::size_t end) {
          std::vector<TextRange> plain;
          if (options.parse_special && added_.has_normalized_special()) plain = special.plain_in(begin, end);
          const std::string normal = normalized(text.substr(begin, end - begin), plain);
          const SpecialPlaces in_normal(options.parse_special, plain);
          added_.cut(
              normal, true, in_normal,
              [&](std::size_t from, std::size_t to) {
                encode_text(std::string_view(normal).substr(from, to - from), begin == 0 && from == 0, symbols, ids);
              },
              on_token);
        },
        on_token);
    if (options.add_special) end_template(ids, own, options.open);
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const {
    std::vector<DecodePiece> pieces;
    pieces.reserve(ids.size());
    for (const std::int32_t id : ids) {
      check(id, "llm::Tokenizer::decode");
      const std::optional<AddedToken> added = added_.find(id);
      const bool known = added || parts_.vocabulary.contains(id);
      if (known && !(skip_special && added && added->special)) pieces.push_back(piece_of(id));
    }
    return parts_.decoder.decode(std::move(pieces));
  }

  std::string decode_one(std::int32_t id) const {
    check(id, "llm::Tokenizer::decode_one");
    return parts_.decoder.decode_one(piece_of(id));
  }

  std::optional<std::int32_t> token_id(std::string_view token) const {
    if (const auto added = added_.find(token)) return added->id;
    return parts_.vocabulary.find(token);
  }
  std::string token(std::int32_t id) const {
    check(id, "llm::Tokenizer::token");
    if (const auto added = added_.find(id)) return std::string(added->content);
    return parts_.vocabulary.contains(id) ? std::string(parts_.vocabulary.text(id)) : std::string();
  }
  bool is_special(std::int32_t id) const {
    check(id, "llm::Tokenizer::is_special");
    const auto added = added_.find(id);
    return added && added->special;
  }
  std::optional<std::int32_t> bos_id() const { return parts_.bos_id; }
  const std::vector<std::int32_t>& eos_ids() const { return parts_.eos_ids; }

  /// What it was made of; the added tokens stand apart.
  const BpeParts& parts() const { return parts_; }
  const AddedTokens& added() const { return added_; }

  /// What BPE sees of a text in which nothing is special: normalised, and cut.
  std::vector<std::string> pre_tokens(std::string_view text) const {
    check_text(text);
    std::vector<std::string> words;
    parts_.pre_tokenizer(parts_.normalizer(text), true).for_each([&](std::string_view word) { words.emplace_back(word); });
    return words;
  }

 private:
  static void check(std::int32_t id, std::int64_t ids, std::string_view what) {
    if (id < 0 || id >= ids) throw ValueError(detail::concat(what, ": id ", id, " is outside 0 .. ", ids - 1));
  }
  void check(std::int32_t id, std::string_view function) const { check(id, vocab_size_, function); }
  static void check_added(const BpeParts& parts, const AddedToken& token) {
    const auto fail = [&](const auto&... reason) {
      throw ValueError(detail::concat("added token ", detail::in_quotes(token.content), " has the id ", token.id, reason...));
    };
    if (token.id < 0 || token.id >= Vocabulary::max_ids) fail(", outside 0 .. ", Vocabulary::max_ids - 1);
    if (parts.added_are_verbatim) return;
    const auto elsewhere = parts.vocabulary.find(token.content);
    if (elsewhere && *elsewhere != token.id) fail(", but ", *elsewhere, " in the vocabulary");
    if (!elsewhere && parts.vocabulary.contains(token.id))
      fail(", which is that of ", detail::in_quotes(parts.vocabulary.text(token.id)), " in the vocabulary");
  }
  /// Of a text, and of what merging sees of it: symbols count its bytes in 32 bits.
  static void check_length(std::size_t bytes) {
    if (bytes >= max_text_bytes)
      throw ValueError(detail::concat("llm::Tokenizer::encode: a text of ", bytes, " bytes is too long (hint: encode it in parts)"));
  }
  static void check_text(std::string_view text) {
    check_length(text.size());
    if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos)
      throw ValueError(detail::concat("llm::Tokenizer::encode: the text is not valid UTF-8 at byte ", at,
                                      " (hint: llm::Utf8Stream replaces what is no UTF-8)"));
  }

  /// The normalised text; `plain` is turned into its ranges.
  std::string normalized(std::string_view text, std::vector<TextRange>& plain) const {
    if (plain.empty()) return parts_.normalizer(text);
    MarkedNormal normal = parts_.normalizer.marked(text, plain);
    plain = std::move(normal.plain);
    return std::move(normal.text);
  }

  void encode_text(std::string_view text, bool at_start, detail::bpe::Symbols& symbols, std::vector<std::int32_t>& ids) const {
    const TextPieces words = parts_.pre_tokenizer(text, at_start);
    words.for_each([&](std::string_view word) {
      check_length(word.size());  // normalising may have made it longer
      std::visit([&](const auto& model) { model.encode_word(parts_.vocabulary, word, symbols, ids); }, parts_.model);
    });
  }

  /// Puts the tokens after the text, unless it is open; what the text itself begins or ends with is not there twice.
  void end_template(std::vector<std::int32_t>& ids, std::size_t own, bool open) const {
    const auto text = ids.begin() + static_cast<std::ptrdiff_t>(own);
    const std::vector<std::int32_t>& after = parts_.after;
    const bool ends_so = ids.size() - own >= after.size() && std::equal(after.rbegin(), after.rend(), ids.rbegin());
    const bool begins_so = ids.size() - own >= own && std::equal(ids.begin(), text, text);
    if (!ends_so && !open) ids.insert(ids.end(), after.begin(), after.end());
    if (begins_so) ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(own));
  }

  DecodePiece piece_of(std::int32_t id) const {
    if (const auto added = added_.find(id)) {
      if (parts_.added_are_verbatim) return {std::string(added->content), true};
      return {std::string(added_.form(id)), false};
    }
    return {parts_.vocabulary.contains(id) ? std::string(parts_.vocabulary.text(id)) : std::string(), false};
  }

  BpeParts parts_;
  std::int64_t vocab_size_;
  AddedTokens added_;
};

static_assert(SpecialTokenizer<BpeTokenizer>);

}  // namespace llm
