// The parts of tokenizer.json that change, cut and join text: normalizer, pre_tokenizer, decoder. What is not known is refused by name.
// Source: the documentation of Hugging Face tokenizers, "Components".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/text/bpe/added_token.hpp>
#include <llm/text/bpe/decoder.hpp>
#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/bpe/patterns.hpp>
#include <llm/text/bpe/pre_tokenizer.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::tokenizer_json {

using hf::Fields;
using Json = nlohmann::json;

/// The result of make(), whose ValueError becomes the file's error at `field`.
template <class Make>
auto at_field(Fields& fields, std::string_view field, const Make& make) {
  try {
    return make();
  } catch (const ValueError& error) {
    fields.fail_at(field, error.what());
  }
}

/// How an added token is matched; all but its id and content, and whether it is normalised.
inline AddedToken flags_of(Fields& fields) {
  return {.single_word = fields.flag("single_word", false),
          .lstrip = fields.flag("lstrip", false),
          .rstrip = fields.flag("rstrip", false),
          .special = fields.flag("special", false)};
}
inline void push_back(AddedTokenList& tokens, const AddedToken& token, const Fields& fields) {
  try {
    tokens.push_back(token);
  } catch (const ValueError& error) {
    fields.fail(error.what());
  }
}

/// Steps that one component may have. Published ones have up to five.
inline constexpr int max_steps = 64;

template <class Read>
void for_each_step(Fields fields, std::string_view list, int& count, const Read& read) {
  const std::string type = fields.text("type", "");
  if (type == "Sequence") {
    const Json& steps = fields.array(list);
    for (std::size_t i = 0; i < steps.size(); ++i) for_each_step(fields.element(list, i), list, count, read);
  } else if (++count > max_steps) {
    fields.fail_at("type", concat("is one of more than ", max_steps, " steps"));
  } else {
    read(fields, type);
  }
}
/// Reads one step, or each of a "Sequence", whose array has the name `list`. `read(fields, type)` reads a step that is no sequence.
template <class Read>
void for_each_step(Fields fields, std::string_view list, const Read& read) {
  int count = 0;
  for_each_step(std::move(fields), list, count, read);
}

[[noreturn]] inline void refuse_type(Fields& fields, std::string_view known) { fields.refuse("type", concat("one of ", known)); }

/// {"String": "..."} or {"Regex": "..."}.
inline TextPattern read_pattern(Fields& fields) {
  Fields pattern = fields.object("pattern");
  const bool regex = pattern.has("Regex");
  if (regex == pattern.has("String")) fields.fail_at("pattern", "has not exactly one of 'String' and 'Regex'");
  const std::string text = pattern.text(regex ? "Regex" : "String", "");
  return at_field(pattern, regex ? "Regex" : "String", [&] { return regex ? TextPattern(Regex(text)) : TextPattern(text); });
}

/// A string of exactly one character.
inline std::string read_character(Fields& fields, std::string_view key) {
  const std::string text = fields.text(key, "");
  if (text.empty() || read_utf8(text, 0).length != text.size()) fields.refuse(key, "one character");
  return text;
}

inline Normalizer read_normalizer(Fields& file) {
  std::vector<Normalizer::Step> steps;
  if (!file.has("normalizer")) return Normalizer();
  for_each_step(file.object("normalizer"), "normalizers", [&](Fields& fields, std::string_view type) {
    if (type == "NFC") return steps.push_back(UnicodeForm::nfc);
    if (type == "NFD") return steps.push_back(UnicodeForm::nfd);
    if (type == "NFKC") return steps.push_back(UnicodeForm::nfkc);
    if (type == "NFKD") return steps.push_back(UnicodeForm::nfkd);
    if (type == "Prepend") return steps.push_back(Normalizer::Prepend{fields.text("prepend", "")});
    if (type == "Replace") return steps.push_back(Normalizer::Replace{read_pattern(fields), fields.text("content", "")});
    refuse_type(fields, "Sequence, NFC, NFD, NFKC, NFKD, Prepend, Replace");
  });
  return Normalizer(std::move(steps));
}

struct ReadPreTokenizer {
  PreTokenizer pre_tokenizer;
  bool byte_level = false;  ///< words are given to BPE in the byte alphabet
};

inline SplitBehavior read_behavior(Fields& fields) {
  constexpr std::pair<std::string_view, SplitBehavior> known[] = {{"Removed", SplitBehavior::removed},
                                                                  {"Isolated", SplitBehavior::isolated},
                                                                  {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                                                  {"MergedWithNext", SplitBehavior::merged_with_next},
                                                                  {"Contiguous", SplitBehavior::contiguous}};
  const std::string name = fields.text("behavior", "");
  for (const auto& [other, behavior] : known)
    if (name == other) return behavior;
  fields.refuse("behavior", "one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

inline PreTokenizer::Metaspace read_metaspace(Fields& fields) {
  PreTokenizer::Metaspace step{.replacement = read_character(fields, "replacement")};
  const std::string scheme = fields.text("prepend_scheme", fields.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme == "first")
    step.prefix = PreTokenizer::Metaspace::Prefix::first;
  else if (scheme == "never")
    step.prefix = PreTokenizer::Metaspace::Prefix::never;
  else if (scheme != "always")
    fields.refuse("prepend_scheme", "one of always, first, never");
  step.split = fields.flag("split", true);
  return step;
}

inline ReadPreTokenizer read_pre_tokenizer(Fields& file) {
  std::vector<PreTokenizer::Step> steps;
  bool byte_level = false;
  if (!file.has("pre_tokenizer")) return {};
  for_each_step(file.object("pre_tokenizer"), "pretokenizers", [&](Fields& fields, std::string_view type) {
    if (byte_level) fields.refuse("type", "nothing after ByteLevel, which ends the splitting");
    if (type == "Split") {
      const SplitBehavior behavior = read_behavior(fields);
      steps.push_back(Split{read_pattern(fields), behavior, fields.flag("invert", false)});
    } else if (type == "Digits") {
      const bool each = fields.flag("individual_digits", false);
      steps.push_back(Split{TextPattern(Regex("\\p{N}")), each ? SplitBehavior::isolated : SplitBehavior::contiguous});
    } else if (type == "Metaspace") {
      steps.push_back(read_metaspace(fields));
    } else if (type == "ByteLevel") {
      byte_level = true;
      if (fields.flag("add_prefix_space", true)) steps.push_back(PreTokenizer::PrefixSpace{});
      if (fields.flag("use_regex", true)) steps.push_back(Split{TextPattern(Regex(std::string(bpe::gpt2_pattern)))});
    } else {
      refuse_type(fields, "Sequence, Split, Digits, Metaspace, ByteLevel");
    }
  });
  return {PreTokenizer(std::move(steps)), byte_level};
}

inline Decoder read_decoder(Fields& file) {
  std::vector<Decoder::Step> steps;
  for_each_step(file.object("decoder"), "decoders", [&](Fields& fields, std::string_view type) {
    if (type == "ByteLevel") return steps.push_back(Decoder::ByteLevel{});
    if (type == "ByteFallback") return steps.push_back(Decoder::ByteFallback{});
    if (type == "Fuse") return steps.push_back(Decoder::Fuse{});
    if (type == "Replace") return steps.push_back(Decoder::Replace{read_pattern(fields), fields.text("content", "")});
    if (type == "Strip") {
      const std::string character = read_character(fields, "content");
      return steps.push_back(
          Decoder::Strip{read_utf8(character, 0).code_point, fields.count_or("start", 0, 0), fields.count_or("stop", 0, 0)});
    }
    if (type == "Metaspace") {
      const PreTokenizer::Metaspace step = read_metaspace(fields);
      return steps.push_back(Decoder::Metaspace{step.replacement, step.prefix != PreTokenizer::Metaspace::Prefix::never});
    }
    refuse_type(fields, "Sequence, ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace");
  });
  return Decoder(std::move(steps));
}

}  // namespace llm::detail::tokenizer_json
