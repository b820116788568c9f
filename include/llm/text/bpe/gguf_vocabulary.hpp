// The tokenizer that a GGUF file carries in its metadata, and a tokenizer made from it. Reading the file is not this file's work.
// Source: ggml-org/ggml, docs/gguf.md; the values of token_type: gguf-py's TokenType.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  /// Where a file says which tokens end a text or a turn, one in each.
  static constexpr std::array<std::string_view, 3> eos_keys{"eos_token_id", "eot_token_id", "eom_token_id"};

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

/// The lists of a GgufVocabulary, as GgufTokenizer walks them: in order, but for the types.
class VocabularyLists {
 public:
  explicit VocabularyLists(const GgufVocabulary& source) : source_(source) {}

  std::size_t tokens() const { return source_.tokens.size(); }
  std::size_t types() const { return source_.types.size(); }
  std::size_t scores() const { return source_.scores.size(); }
  std::size_t merges() const { return source_.merges.size(); }
  std::int64_t type(std::size_t id) const { return source_.types[id]; }
  /// f(number, token or merge or score)
  template <class F>
  void for_each_token(const F& f) const {
    for_each(source_.tokens, f);
  }
  template <class F>
  void for_each_merge(const F& f) const {
    for_each(source_.merges, f);
  }
  template <class F>
  void for_each_score(const F& f) const {
    for_each(source_.scores, f);
  }

 private:
  template <class List, class F>
  static void for_each(const List& list, const F& f) {
    for (std::size_t i = 0; i < list.size(); ++i) f(i, list[i]);
  }
  const GgufVocabulary& source_;
};

/// Makes a tokenizer of what the keys of a GgufVocabulary say and of lists, which may stand elsewhere. What can be wrong is found before
/// anything large is kept beside the vocabulary: refusing costs little memory.
template <class Lists>
class GgufTokenizer {
 public:
  GgufTokenizer(const GgufVocabulary& keys, const Lists& lists) : source_(keys), lists_(lists) {}

  /// `complete` may change the parts before what is large is made of them.
  BpeParts parts(const std::function<void(BpeParts&)>& complete = {}) {
    check_lengths();
    const bool byte_level = source_.model == "gpt2";
    if (byte_level)
      make_byte_level();
    else if (source_.model == "llama")
      make_sentencepiece();
    else
      fail(concat("tokenizer.ggml.model is ", in_quotes(source_.model), ", expected 'gpt2' or 'llama'"));
    check_ids();
    check_tokens();
    add_tokens();
    add_ends();
    for_each_added([&](std::size_t id, std::string_view token) { add_added(static_cast<std::int32_t>(id), token); });
    if (complete) complete(parts_);
    BpeTokenizer::validate(parts_);
    if (byte_level) {
      lists_.for_each_merge([&](std::size_t rank, std::string_view merge) { merge_at(rank, merge); });
      parts_.model = RankedModel(parts_.vocabulary, merges(), options_);
    } else {
      parts_.model = scored_model();
    }
    return std::move(parts_);
  }

 private:
  [[noreturn]] static void fail(std::string_view reason) { throw ValueError(std::string(reason)); }
  std::int64_t type_of(std::size_t id) const { return lists_.types() == 0 ? std::int64_t{GgufVocabulary::normal} : lists_.type(id); }

  void check_lengths() const {
    const std::size_t count = lists_.tokens();
    if (count == 0) fail("tokenizer.ggml.tokens is empty");
    if (lists_.types() != 0 && lists_.types() != count)
      fail(concat("tokenizer.ggml.token_type has ", lists_.types(), " entries for ", count, " tokens"));
    if (source_.model == "llama" && lists_.scores() != count)
      fail(concat("tokenizer.ggml.scores has ", lists_.scores(), " entries for ", count, " tokens"));
  }

  /// Spellings and types.
  void check_tokens() {
    std::size_t bytes = 0;
    lists_.for_each_token([&](std::size_t id, std::string_view token) {
      bytes += token.size();
      if (token.size() > Vocabulary::max_token_bytes)  // before its bytes are looked at
        fail(concat("tokenizer.ggml.tokens: token ", in_quotes(token), " of id ", id, " is ", token.size(), " bytes long, the limit is ",
                    Vocabulary::max_token_bytes));
      if (find_invalid_utf8(token) != std::string_view::npos)
        fail(concat("tokenizer.ggml.tokens: token ", in_quotes(token), " of id ", id, " is not valid UTF-8"));
      const std::int64_t type = type_of(id);
      if (type < GgufVocabulary::normal || type > GgufVocabulary::byte)
        fail(concat("tokenizer.ggml.token_type: token ", in_quotes(token), " has the unknown type ", type));
    });
    parts_.vocabulary.expect_bytes(bytes);
  }

  void add_tokens() {
    lists_.for_each_token([&](std::size_t id, std::string_view token) {
      // Padding of a vocabulary may be spelled alike many times; nothing is ever encoded to it.
      if (type_of(id) == GgufVocabulary::unused && parts_.vocabulary.find(token)) return;
      parts_.vocabulary.add(static_cast<std::int64_t>(id), token);
    });
    parts_.added_are_verbatim = true;
    parts_.least_ids = static_cast<std::int64_t>(lists_.tokens());
  }

  static bool is_added(std::int64_t type) {
    return type == GgufVocabulary::control || type == GgufVocabulary::unknown || type == GgufVocabulary::user_defined;
  }
  template <class F>
  void for_each_added(const F& f) const {
    if (lists_.types() == 0) return;
    lists_.for_each_token([&](std::size_t id, std::string_view token) {
      if (is_added(type_of(id)) && !token.empty()) f(id, token);
    });
  }
  /// One that is looked for in the text, where a space is a space.
  void add_added(std::int32_t id, std::string_view token) {
    const bool special = type_of(static_cast<std::size_t>(id)) != GgufVocabulary::user_defined;
    if (source_.model == "llama" && token.find(space_mark) != std::string_view::npos)
      parts_.added.push_back({.id = id, .content = with_spaces(token), .special = special});
    else
      parts_.added.push_back({.id = id, .content = token, .special = special});
  }

  void make_byte_level() {
    if (source_.pre.empty()) fail("tokenizer.ggml.pre is missing: nothing says how texts are split");
    if (lists_.merges() == 0) fail("tokenizer.ggml.merges is missing: nothing says which tokens join");
    auto named = find_pre_tokenizer(source_.pre);
    if (!named) fail(concat("tokenizer.ggml.pre is ", in_quotes(source_.pre), ", which is no pre-tokenizer that is known"));
    parts_.pre_tokenizer = std::move(named->pre_tokenizer);
    parts_.normalizer = std::move(named->normalizer);
    adds_bos_ = named->add_bos;
    options_ = {.byte_level = true, .ignore_merges = named->ignore_merges};
    if (source_.unknown_id) options_.unknown_id = id_of("unknown_token_id", *source_.unknown_id);
    parts_.decoder = Decoder({Decoder::ByteLevel{}});
  }

  MergeTable merges() const {
    MergeTable table(lists_.merges());
    lists_.for_each_merge([&](std::size_t rank, std::string_view merge) {
      const Ids ids = merge_at(rank, merge);
      table.insert(ids.left, ids.right, {static_cast<std::uint32_t>(rank), ids.both});
    });
    return table;
  }
  struct Ids {
    std::int32_t left, right, both;
  };
  Ids merge_at(std::size_t rank, std::string_view merge) const {
    const auto refuse = [&](std::string_view reason) {
      fail(concat("tokenizer.ggml.merges[", rank, "], ", in_quotes(merge), ", ", reason));
    };
    if (merge.size() > 2 * Vocabulary::max_token_bytes + 1) refuse("is longer than two tokens may be");
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) refuse("is no two tokens with a space between");
    const auto left = parts_.vocabulary.find(merge.substr(0, space)), right = parts_.vocabulary.find(merge.substr(space + 1));
    const auto both = parts_.vocabulary.find(std::string(merge.substr(0, space)) + std::string(merge.substr(space + 1)));
    if (!left || !right || !both) refuse("names or makes a token that the vocabulary lacks");
    return {*left, *right, *both};
  }

  void make_sentencepiece() {
    lists_.for_each_score([&](std::size_t id, float score) {
      if (std::isnan(score)) fail(concat("tokenizer.ggml.scores: that of id ", id, " is not a number"));
    });
    const TextPattern space(std::string(" ")), mark{std::string(space_mark)};
    std::vector<Normalizer::Step> normal;
    normal.reserve(2);  // one allocation, which g++ 12 can follow: with two it warns of a write that does not happen
    normal.emplace_back(Normalizer::Replace{space, std::string(space_mark)});
    std::vector<Decoder::Step> decode{Decoder::Replace{mark, " "}, Decoder::ByteFallback{.whole_runs = false}, Decoder::Fuse{}};
    if (source_.add_space_prefix) {
      normal.emplace_back(Normalizer::Prepend{std::string(space_mark)});
      decode.emplace_back(Decoder::Strip{.character = U' ', .start = 1});
    }
    parts_.normalizer = Normalizer(std::move(normal));
    parts_.decoder = Decoder(std::move(decode));
    adds_bos_ = true;
  }
  ScoredModel scored_model() const {
    std::vector<bool> mergeable;
    for (std::size_t id = 0; id < lists_.tokens(); ++id) mergeable.push_back(type_of(id) == GgufVocabulary::normal);
    std::vector<float> scores(lists_.scores());
    lists_.for_each_score([&](std::size_t id, float score) { scores[id] = score; });
    std::optional<std::int32_t> unknown;
    if (source_.unknown_id) unknown = id_of("unknown_token_id", *source_.unknown_id);
    return ScoredModel(parts_.vocabulary, scores, mergeable, unknown);
  }

  std::int32_t id_of(std::string_view key, std::int64_t id) const {
    if (id < 0 || id >= static_cast<std::int64_t>(lists_.tokens()))
      fail(concat("tokenizer.ggml.", key, " is ", id, ", outside the ", lists_.tokens(), " tokens"));
    return static_cast<std::int32_t>(id);
  }

  static std::string eos_key_names() {
    std::string names;
    for (const std::string_view key : GgufVocabulary::eos_keys) names += (names.empty() ? "" : " or ") + std::string(key);
    return names;
  }
  /// And what begins and ends texts.
  void check_ids() {
    if (source_.unknown_id) id_of("unknown_token_id", *source_.unknown_id);
    if (source_.bos_id) parts_.bos_id = id_of("bos_token_id", *source_.bos_id);
    for (const std::int64_t id : source_.eos_ids) parts_.eos_ids.push_back(id_of(eos_key_names(), id));
    if (source_.add_bos.value_or(adds_bos_)) {
      if (!parts_.bos_id) fail("a BOS begins every text, but tokenizer.ggml.bos_token_id is missing");
      parts_.before = {*parts_.bos_id};
    }
    if (source_.add_eos.value_or(false)) {
      if (source_.eos_ids.empty()) fail("tokenizer.ggml.add_eos_token is true, but tokenizer.ggml.eos_token_id is missing");
      parts_.after = {parts_.eos_ids.front()};
    }
  }

  void add_ends() {
    for (const std::string_view name : end_names) {
      const auto id = parts_.vocabulary.find(name);
      if (id && type_of(static_cast<std::size_t>(*id)) == GgufVocabulary::control) parts_.eos_ids.push_back(*id);
    }
    std::vector<std::int32_t> once;
    for (const std::int32_t id : parts_.eos_ids)
      if (std::find(once.begin(), once.end(), id) == once.end()) once.push_back(id);
    parts_.eos_ids = std::move(once);
  }

  const GgufVocabulary& source_;  // but for the lists
  const Lists& lists_;
  BpeParts parts_;
  RankedOptions options_;  // of "gpt2"
  bool adds_bos_ = false;
};

}  // namespace detail::bpe

/// The tokenizer of a GGUF file. Throws ValueError, naming the key, for what contradicts itself and for every model and pre-tokenizer that
/// is not known.
inline BpeTokenizer make_tokenizer(const GgufVocabulary& vocabulary) {
  const detail::bpe::VocabularyLists lists(vocabulary);
  return BpeTokenizer(detail::bpe::GgufTokenizer(vocabulary, lists).parts());
}

}  // namespace llm
