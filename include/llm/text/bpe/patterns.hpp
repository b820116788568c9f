// The pre-tokenizers of published models by the names that GGUF files give them (tokenizer.ggml.pre).
// Source: the tokenizer.json of each family; which name stands for which family: ggml-org/llama.cpp, src/llama-vocab.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/bpe/pre_tokenizer.hpp>

namespace llm {

namespace detail::bpe {

inline constexpr std::string_view gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen35_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Words in which capitals come first, as o200k_base (GPT-4o) has them, then what follows a word, numbers, punctuation, space.
inline constexpr std::string_view gpt4o_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view tekken_pattern = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                                   R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                                   R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view deepseek3_cjk_pattern = R"([\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+)";
inline constexpr std::string_view deepseek3_pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A family: its patterns, applied one after the other, and what else its tokenizer does.
struct KnownPreTokenizer {
  std::vector<std::string_view> names;
  std::vector<std::string_view> patterns;
  bool nfc = false;            ///< texts are normalised to NFC
  bool ignore_merges = false;  ///< a word that is a token becomes that
  bool add_bos = false;        ///< a BOS begins every text unless the file says otherwise
};

inline const std::vector<KnownPreTokenizer>& known_pre_tokenizers() {
  static const std::vector<KnownPreTokenizer> known = {
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "gigachat", "a.x-4.0", "mellum"}, {gpt2_pattern}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"}, {R"(\p{N})", gpt2_pattern}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}, {llama3_pattern}, false, true, true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {llama3_pattern}},
      {{"qwen2", "deepseek-r1-qwen"}, {qwen2_pattern}, true},
      {{"stablelm2", "hunyuan", "megrez", "grok-2", "solar-open"}, {qwen2_pattern}},
      {{"qwen35"}, {qwen35_pattern}, true},
      {{"gpt-4o", "llama4", "minimax-m2"}, {gpt4o_pattern}},
      {{"tekken"}, {tekken_pattern}, false, true, true},
      {{"deepseek-v3", "joyai-llm"}, {R"(\p{N}{1,3})", deepseek3_cjk_pattern, deepseek3_pattern}},
  };
  return known;
}

}  // namespace detail::bpe

/// A byte-level pre-tokenizer that is known by name, with the settings that belong to it.
struct NamedPreTokenizer {
  PreTokenizer pre_tokenizer;
  Normalizer normalizer;
  bool ignore_merges = false, add_bos = false;
};

/// The pre-tokenizer of this name in GGUF files, or nothing when it is not known.
inline std::optional<NamedPreTokenizer> find_pre_tokenizer(std::string_view name) {
  for (const detail::bpe::KnownPreTokenizer& known : detail::bpe::known_pre_tokenizers()) {
    for (const std::string_view other : known.names) {
      if (other != name) continue;
      std::vector<PreTokenizer::Step> steps;
      for (const std::string_view pattern : known.patterns) steps.push_back(Split{TextPattern(Regex(std::string(pattern)))});
      std::vector<Normalizer::Step> normal;
      if (known.nfc) normal.push_back(UnicodeForm::nfc);
      return NamedPreTokenizer{PreTokenizer(std::move(steps)), Normalizer(std::move(normal)), known.ignore_merges, known.add_bos};
    }
  }
  return {};
}

/// The name under which find_pre_tokenizer() gives this one, or nothing when none does.
inline std::optional<std::string_view> name_of(const PreTokenizer& pre_tokenizer, const Normalizer& normalizer, bool ignore_merges) {
  const auto equals = [&](const detail::bpe::KnownPreTokenizer& known) {
    const auto& steps = pre_tokenizer.steps();
    if (known.ignore_merges != ignore_merges || known.patterns.size() != steps.size()) return false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto* split = std::get_if<Split>(&steps[i]);
      const bool same = split != nullptr && split->behavior == SplitBehavior::isolated && !split->invert &&
                        split->pattern.regex() != nullptr && split->pattern.regex()->pattern() == known.patterns[i];
      if (!same) return false;
    }
    const auto& normal = normalizer.steps();
    const auto* form = normal.size() == 1 ? std::get_if<UnicodeForm>(&normal.front()) : nullptr;
    return known.nfc ? form != nullptr && *form == UnicodeForm::nfc : normal.empty();
  };
  for (const detail::bpe::KnownPreTokenizer& known : detail::bpe::known_pre_tokenizers())
    if (equals(known)) return known.names.front();
  return {};
}

}  // namespace llm
