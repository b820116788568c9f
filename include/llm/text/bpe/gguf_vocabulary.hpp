// The tokenizer that a GGUF file carries in its metadata, and a tokenizer made from it. Reading the file is not this file's work.
// Source: ggml-org/ggml, docs/gguf.md; the values of token_type: gguf-py's TokenType.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/patterns.hpp>

namespace llm {

/// What the keys tokenizer.ggml.* say. The views must live until the tokenizer is made.
struct GgufVocabulary {
  enum Type : std::int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  static constexpr std::size_t max_eos_ids = 3;  ///< a file has a key for each: eos_token_id, eot_token_id, eom_token_id

  std::string model;                     ///< "gpt2": byte-level BPE by merges; "llama": SentencePiece BPE by scores
  std::string pre;                       ///< of "gpt2": the pre-tokenizer's name
  std::vector<std::string_view> tokens;  ///< by id
  std::vector<std::int64_t> types;       ///< of each token; empty: all are normal
  std::vector<float> scores;             ///< of "llama": of each token
  std::vector<std::string_view> merges;  ///< of "gpt2": "left right", the first goes first
  std::optional<std::int64_t> bos_id, unknown_id;
  std::vector<std::int64_t> eos_ids;     ///< the file's eos, eot and eom tokens
  std::optional<bool> add_bos, add_eos;  ///< none: as the model's family does
  bool add_space_prefix = true;          ///< of "llama"
};

namespace detail::bpe {

/// Tokens that end a text or a turn, whether a file says so or not: the ones that chat models are trained to end with.
inline constexpr std::string_view end_names[] = {"<|eot_id|>",      "<|eom_id|>",    "<|im_end|>",    "<|end|>",
                                                 "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>", "<EOT>"};
inline bool is_end_name(std::string_view token) {
  return std::find(std::begin(end_names), std::end(end_names), token) != std::end(end_names);
}

/// Makes the tokenizer of one GgufVocabulary.
class GgufTokenizer {
 public:
  explicit GgufTokenizer(const GgufVocabulary& source) : source_(source) {}

  BpeParts parts() {
    check_lengths();
    add_tokens();
    const bool byte_level = source_.model == "gpt2";
    if (byte_level)
      make_byte_level();
    else if (source_.model == "llama")
      make_sentencepiece();
    else
      fail(concat("tokenizer.ggml.model is ", in_quotes(source_.model), ", expected 'gpt2' or 'llama'"));
    add_ends();
    BpeTokenizer::validate(parts_);
    if (byte_level) parts_.model = RankedModel(parts_.vocabulary, merges(), options_);  // the largest part, of what is known to be good
    return std::move(parts_);
  }

 private:
  [[noreturn]] static void fail(std::string_view reason) { throw ValueError(std::string(reason)); }
  std::int64_t type_of(std::size_t id) const { return source_.types.empty() ? std::int64_t{GgufVocabulary::normal} : source_.types[id]; }

  void check_lengths() const {
    const std::size_t count = source_.tokens.size();
    if (count == 0) fail("tokenizer.ggml.tokens is empty");
    if (!source_.types.empty() && source_.types.size() != count)
      fail(concat("tokenizer.ggml.token_type has ", source_.types.size(), " entries for ", count, " tokens"));
    if (source_.model == "llama" && source_.scores.size() != count)
      fail(concat("tokenizer.ggml.scores has ", source_.scores.size(), " entries for ", count, " tokens"));
  }

  void add_tokens() {
    for (std::size_t id = 0; id < source_.tokens.size(); ++id) {
      const std::string_view token = source_.tokens[id];
      if (find_invalid_utf8(token) != std::string_view::npos)
        fail(concat("tokenizer.ggml.tokens: token ", in_quotes(token), " of id ", id, " is not valid UTF-8"));
      const std::int64_t type = type_of(id);
      if (type < GgufVocabulary::normal || type > GgufVocabulary::byte)
        fail(concat("tokenizer.ggml.token_type: token ", in_quotes(token), " has the unknown type ", type));
      // Padding of a vocabulary may be spelled alike many times; nothing is ever encoded to it.
      if (type == GgufVocabulary::unused && parts_.vocabulary.find(token)) continue;
      parts_.vocabulary.add(static_cast<std::int64_t>(id), token);
      const bool special = type == GgufVocabulary::control || type == GgufVocabulary::unknown;
      if ((special || type == GgufVocabulary::user_defined) && !token.empty())
        parts_.added.push_back({.id = static_cast<std::int32_t>(id), .content = std::string(token), .special = special});
    }
    parts_.added_are_verbatim = true;
    parts_.least_ids = static_cast<std::int64_t>(source_.tokens.size());
  }

  void make_byte_level() {
    if (source_.pre.empty()) fail("tokenizer.ggml.pre is missing: nothing says how texts are split");
    if (source_.merges.empty()) fail("tokenizer.ggml.merges is missing: nothing says which tokens join");
    auto named = find_pre_tokenizer(source_.pre);
    if (!named) fail(concat("tokenizer.ggml.pre is ", in_quotes(source_.pre), ", which is no pre-tokenizer that is known"));
    parts_.pre_tokenizer = std::move(named->pre_tokenizer);
    parts_.normalizer = std::move(named->normalizer);
    adds_bos_ = named->add_bos;
    options_ = {.byte_level = true, .ignore_merges = named->ignore_merges};
    if (source_.unknown_id) options_.unknown_id = id_of("unknown_token_id", *source_.unknown_id);
    parts_.decoder = Decoder({Decoder::ByteLevel{}});
    for (std::size_t rank = 0; rank < source_.merges.size(); ++rank) merge_at(rank);
  }

  MergeTable merges() const {
    MergeTable table(source_.merges.size());
    for (std::size_t rank = 0; rank < source_.merges.size(); ++rank) {
      const Ids ids = merge_at(rank);
      table.insert(ids.left, ids.right, {static_cast<std::uint32_t>(rank), ids.both});
    }
    return table;
  }
  struct Ids {
    std::int32_t left, right, both;
  };
  Ids merge_at(std::size_t rank) const {
    const std::string_view merge = source_.merges[rank];
    const std::size_t space = merge.find(' ', 1);
    const auto refuse = [&](std::string_view reason) {
      fail(concat("tokenizer.ggml.merges[", rank, "], ", in_quotes(merge), ", ", reason));
    };
    if (space == std::string_view::npos) refuse("is no two tokens with a space between");
    const auto left = parts_.vocabulary.find(merge.substr(0, space)), right = parts_.vocabulary.find(merge.substr(space + 1));
    const auto both = parts_.vocabulary.find(std::string(merge.substr(0, space)) + std::string(merge.substr(space + 1)));
    if (!left || !right || !both) refuse("names or makes a token that the vocabulary lacks");
    return {*left, *right, *both};
  }

  void make_sentencepiece() {
    constexpr std::string_view underline = "\xE2\x96\x81";  // U+2581 stands for a space
    std::vector<bool> mergeable;
    for (std::size_t id = 0; id < source_.tokens.size(); ++id) mergeable.push_back(type_of(id) == GgufVocabulary::normal);
    std::optional<std::int32_t> unknown;
    if (source_.unknown_id) unknown = id_of("unknown_token_id", *source_.unknown_id);
    parts_.model = ScoredModel(parts_.vocabulary, source_.scores, mergeable, unknown);
    const TextPattern space(std::string(" ")), mark{std::string(underline)};
    // Users' tokens are looked for in the text, where a space is a space.
    for (AddedToken& token : parts_.added) token.content = mark.replace(token.content, " ");
    std::vector<Normalizer::Step> normal{Normalizer::Replace{space, std::string(underline)}};
    std::vector<Decoder::Step> decode{Decoder::Replace{mark, " "}, Decoder::ByteFallback{.whole_runs = false}, Decoder::Fuse{}};
    if (source_.add_space_prefix) {
      normal.emplace_back(Normalizer::Prepend{std::string(underline)});
      decode.emplace_back(Decoder::Strip{.character = U' ', .start = 1});
    }
    parts_.normalizer = Normalizer(std::move(normal));
    parts_.decoder = Decoder(std::move(decode));
    adds_bos_ = true;
  }

  std::int32_t id_of(std::string_view key, std::int64_t id) const {
    if (id < 0 || id >= static_cast<std::int64_t>(source_.tokens.size()))
      fail(concat("tokenizer.ggml.", key, " is ", id, ", outside the ", source_.tokens.size(), " tokens"));
    return static_cast<std::int32_t>(id);
  }

  void add_ends() {
    if (source_.bos_id) parts_.bos_id = id_of("bos_token_id", *source_.bos_id);
    for (const std::int64_t id : source_.eos_ids) parts_.eos_ids.push_back(id_of("eos_token_id, eot_token_id or eom_token_id", id));
    for (const std::string_view name : end_names) {
      const auto id = parts_.vocabulary.find(name);
      if (id && type_of(static_cast<std::size_t>(*id)) == GgufVocabulary::control) parts_.eos_ids.push_back(*id);
    }
    std::vector<std::int32_t> once;
    for (const std::int32_t id : parts_.eos_ids)
      if (std::find(once.begin(), once.end(), id) == once.end()) once.push_back(id);
    parts_.eos_ids = std::move(once);
    if (source_.add_bos.value_or(adds_bos_)) {
      if (!parts_.bos_id) fail("a BOS begins every text, but tokenizer.ggml.bos_token_id is missing");
      parts_.before = {*parts_.bos_id};
    }
    if (source_.add_eos.value_or(false)) {
      if (source_.eos_ids.empty()) fail("tokenizer.ggml.add_eos_token is true, but tokenizer.ggml.eos_token_id is missing");
      parts_.after = {parts_.eos_ids.front()};
    }
  }

  const GgufVocabulary& source_;
  BpeParts parts_;
  RankedOptions options_;  // of "gpt2"
  bool adds_bos_ = false;
};

}  // namespace detail::bpe

/// The tokenizer of a GGUF file. Throws ValueError, naming the key, for what contradicts itself and for every model and pre-tokenizer that
/// is not known.
inline BpeTokenizer make_tokenizer(const GgufVocabulary& vocabulary) {
  return BpeTokenizer(detail::bpe::GgufTokenizer(vocabulary).parts());
}

}  // namespace llm
