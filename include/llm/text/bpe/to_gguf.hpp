// A tokenizer as the metadata of a GGUF file: what a file needs that is made from a tokenizer.json.
// Source: ggml-org/ggml, docs/gguf.md, "Tokenizer".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/bpe/patterns.hpp>
#include <llm/text/bpe/to_gguf_checks.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// The values of the keys tokenizer.ggml.*, with the texts that they are made of.
struct GgufTokenizerKeys {
  std::vector<std::string> tokens, merges;
  GgufVocabulary values;  ///< all but tokens and merges; view() adds those

  /// The same with views of the texts, valid as long as this object stays where it is.
  GgufVocabulary view() const {
    GgufVocabulary whole = values;
    whole.tokens.assign(tokens.begin(), tokens.end());
    whole.merges.assign(merges.begin(), merges.end());
    return whole;
  }
};

namespace detail::bpe {

/// Fills the keys from one tokenizer.
class ToGguf {
 public:
  explicit ToGguf(const BpeTokenizer& tokenizer) : tokenizer_(tokenizer), parts_(tokenizer.parts()) {}

  GgufTokenizerKeys keys() {
    check_added_for_gguf(tokenizer_);
    add_tokens();
    std::visit([&](const auto& model) { add_special(add_model(model)); }, parts_.model);
    return std::move(keys_);
  }

 private:
  void add_tokens() {
    for (std::int32_t id = 0; id < tokenizer_.vocab_size(); ++id) {
      const auto added = tokenizer_.added().find(id);
      const bool known = added || parts_.vocabulary.contains(id);
      keys_.tokens.push_back(known ? tokenizer_.token(id) : concat("[PAD", id, "]"));
      keys_.values.types.push_back(!known           ? GgufVocabulary::unused
                                   : !added         ? GgufVocabulary::normal
                                   : added->special ? GgufVocabulary::control
                                                    : GgufVocabulary::user_defined);
    }
  }

  /// What is not of one kind alone; the unknown token's id.
  std::optional<std::int32_t> add_model(const RankedModel& model) {
    model.options().byte_level ? add_byte_level(model) : add_sentencepiece(model);
    return model.options().unknown_id;
  }
  std::optional<std::int32_t> add_model(const ScoredModel& model) {
    add_scores(model);
    return model.unknown_id();
  }

  void add_byte_level(const RankedModel& model) {
    const auto name = name_of(parts_.pre_tokenizer, parts_.normalizer, model.options().ignore_merges);
    if (!name) throw ValueError("llm::to_gguf: GGUF has no name for the way in which the tokenizer splits texts");
    keys_.values.model = "gpt2";
    keys_.values.pre = *name;
    std::vector<std::pair<std::uint32_t, std::string>> merges;
    model.merges().for_each([&](std::int32_t left, std::int32_t right, Merge merge) {
      merges.emplace_back(merge.rank, concat(parts_.vocabulary.text(left), " ", parts_.vocabulary.text(right)));
    });
    std::sort(merges.begin(), merges.end());
    for (auto& merge : merges) keys_.merges.push_back(std::move(merge.second));
  }

  /// SentencePiece's scores were given in the order in which tokens were found; so a token's is the rank of the first merge to it.
  void add_sentencepiece(const RankedModel& model) {
    if (!model.options().byte_fallback || !is_metaspace())
      throw ValueError("llm::to_gguf: the tokenizer is neither byte-level nor as SentencePiece's, which GGUF has");
    keys_.values.model = "llama";
    constexpr float no_merge = -1e9f;  // a character is never the result of one
    keys_.values.scores.assign(keys_.tokens.size(), no_merge);
    model.merges().for_each([&](std::int32_t, std::int32_t, Merge merge) {
      float& score = keys_.values.scores[static_cast<std::size_t>(merge.id)];
      score = (std::max)(score, -static_cast<float>(merge.rank));
    });
    for (std::size_t id = 0; id < keys_.tokens.size(); ++id) {
      auto& type = keys_.values.types[id];
      const std::string& token = keys_.tokens[id];
      if (type != GgufVocabulary::normal) continue;
      if (byte_of_token(token))
        type = GgufVocabulary::byte;
      else if (keys_.values.scores[id] == no_merge && !is_character(token))
        type = GgufVocabulary::unused;  // no text becomes it, though two of its parts may stand side by side
    }
    ScoreCheck(parts_.vocabulary, model.merges(), keys_.values.types).run();
  }

  /// Scores that stand in the order of the model's own.
  void add_scores(const ScoredModel& model) {
    if (!is_metaspace()) throw ValueError("llm::to_gguf: the tokenizer does not take spaces as SentencePiece does, which GGUF expects");
    keys_.values.model = "llama";
    constexpr float last = -1e9f;
    for (std::size_t id = 0; id < keys_.tokens.size(); ++id) {
      const auto as_id = static_cast<std::int32_t>(id);
      const bool own = as_id < parts_.vocabulary.size() && parts_.vocabulary.contains(as_id);
      const std::uint32_t rank = own ? model.rank(as_id) : Merge::never;
      keys_.values.scores.push_back(rank == Merge::never ? last : -static_cast<float>(rank));
      auto& type = keys_.values.types[id];
      if (type == GgufVocabulary::user_defined) keys_.tokens[id] = with_space_marks(keys_.tokens[id]);
      if (type != GgufVocabulary::normal || rank != Merge::never) continue;
      type = byte_of_token(keys_.tokens[id]) ? GgufVocabulary::byte : GgufVocabulary::unused;
    }
  }
  static bool is_character(std::string_view token) { return !token.empty() && read_utf8(token, 0).length == token.size(); }

  /// Whether spaces become U+2581, all of them, and whether one is put before a text.
  bool is_metaspace() {
    keys_.values.add_space_prefix = false;
    bool replaces = false;
    for (const Normalizer::Step& step : parts_.normalizer.steps()) {
      if (const auto* prepend = std::get_if<Normalizer::Prepend>(&step)) {
        if (prepend->prefix != space_mark) return false;
        keys_.values.add_space_prefix = true;
      } else if (const auto* replace = std::get_if<Normalizer::Replace>(&step)) {
        if (replace->by != space_mark || replace->pattern.literal() == nullptr || *replace->pattern.literal() != " ") return false;
        replaces = true;
      } else {
        return false;
      }
    }
    for (const PreTokenizer::Step& step : parts_.pre_tokenizer.steps()) {
      const auto* metaspace = std::get_if<PreTokenizer::Metaspace>(&step);
      if (metaspace == nullptr || metaspace->replacement != space_mark || metaspace->split) return false;
      if (metaspace->prefix == PreTokenizer::Metaspace::Prefix::first && !tokenizer_.added().all().empty())
        throw ValueError("llm::to_gguf: the tokenizer puts a space before the first piece of a text only, which GGUF cannot say");
      keys_.values.add_space_prefix = keys_.values.add_space_prefix || metaspace->prefix != PreTokenizer::Metaspace::Prefix::never;
      replaces = true;
    }
    return replaces;
  }

  void add_special(std::optional<std::int32_t> unknown) {
    GgufVocabulary& values = keys_.values;
    if (parts_.bos_id) values.bos_id = *parts_.bos_id;
    add_ends();
    if (unknown) {
      values.unknown_id = *unknown;
      auto& type = values.types[static_cast<std::size_t>(*unknown)];
      if (values.model == "llama" && type == GgufVocabulary::control) type = GgufVocabulary::unknown;
    }
    constexpr std::int64_t none = -1;
    const auto only = [](const std::vector<std::int32_t>& around, std::int64_t id) {
      return around.empty() || (around.size() == 1 && around.front() == id);
    };
    if (!only(parts_.before, values.bos_id.value_or(none)) || !only(parts_.after, values.eos_ids.empty() ? none : values.eos_ids.front()))
      throw ValueError("llm::to_gguf: the tokenizer puts other tokens around a text than a BOS and an EOS");
    values.add_bos = !parts_.before.empty();
    values.add_eos = !parts_.after.empty();
  }

  /// There are keys for three; of the others those are found again that have a known name.
  void add_ends() {
    for (const std::int32_t id : parts_.eos_ids) {
      if (keys_.values.eos_ids.size() < GgufVocabulary::eos_keys.size()) {
        keys_.values.eos_ids.push_back(id);
        continue;
      }
      const auto at = static_cast<std::size_t>(id);
      if (!is_end_name(keys_.tokens[at]) || keys_.values.types[at] != GgufVocabulary::control)
        throw ValueError(concat("llm::to_gguf: ", in_quotes(keys_.tokens[at]), " is one of ", parts_.eos_ids.size(),
                                " tokens that end a text, of which GGUF can name ", GgufVocabulary::eos_keys.size()));
    }
  }

  const BpeTokenizer& tokenizer_;
  const BpeParts& parts_;
  GgufTokenizerKeys keys_;
};

}  // namespace detail::bpe

/// What a GGUF file must say for make_tokenizer() to give a tokenizer with the same ids. Throws ValueError, saying why, when it cannot.
inline GgufTokenizerKeys to_gguf(const BpeTokenizer& tokenizer) { return detail::bpe::ToGguf(tokenizer).keys(); }

}  // namespace llm
