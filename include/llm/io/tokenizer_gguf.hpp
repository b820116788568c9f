// Reads the tokenizer that a GGUF file carries.
// Source: ggml-org/ggml, docs/gguf.md, "Tokenizer".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>

namespace llm {

namespace detail::gguf {

/// The keys tokenizer.ggml.*, with their types checked; a missing key gives nothing.
class TokenizerKeys {
 public:
  explicit TokenizerKeys(const GgufFile& file) : file_(file) {}

  std::optional<std::string_view> text(std::string_view name) const {
    return get(name, "a string", [](const GgufValue& value) { return value.text(); });
  }
  std::optional<bool> flag(std::string_view name) const {
    return get(name, "a bool", [](const GgufValue& value) { return value.boolean(); });
  }
  std::optional<std::int64_t> id(std::string_view name) const {
    return get(name, "an integer", [](const GgufValue& value) { return value.integer(); });
  }
  std::vector<std::string_view> texts(std::string_view name, std::int64_t most = Vocabulary::max_ids) const {
    const auto array = array_of(name, most);
    if (!array) return {};
    if (array->element_type() != GgufType::string) fail(name, "is no array of strings");
    return array->strings();
  }
  std::vector<std::int64_t> integers(std::string_view name) const {
    const auto array = array_of(name);
    if (!array) return {};
    const GgufType type = array->element_type();
    if (type == GgufType::u64 || type == GgufType::i64 || !GgufValue(type, {}).is_integer())
      fail(name, "is no array of integers of 32 bits");
    return array->integers();
  }
  std::vector<float> floats(std::string_view name) const {
    const auto array = array_of(name);
    if (!array) return {};
    if (array->element_type() != GgufType::f32) fail(name, "is no array of f32");
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(array->size()));
    for (const GgufValue element : *array) all.push_back(static_cast<float>(*element.floating()));
    return all;
  }
  [[noreturn]] void fail(std::string_view name, std::string_view reason) const {
    gguf::fail(file_.path(), concat("key 'tokenizer.ggml.", name, "' ", reason));
  }

 private:
  template <class Get>
  auto get(std::string_view name, std::string_view expected, const Get& take) const -> decltype(take(std::declval<const GgufValue&>())) {
    const GgufValue* value = file_.find_metadata(concat("tokenizer.ggml.", name));
    if (value == nullptr) return {};
    auto taken = take(*value);
    if (!taken) fail(name, concat("is no ", expected.substr(expected.find(' ') + 1)));
    return taken;
  }
  std::optional<GgufArray> array_of(std::string_view name, std::int64_t most = Vocabulary::max_ids) const {
    auto array = get(name, "an array", [](const GgufValue& value) { return value.array(); });
    if (array && array->size() > most) fail(name, concat("has ", array->size(), " elements, the limit is ", most));
    return array;
  }

  const GgufFile& file_;
};

}  // namespace detail::gguf

/// What a GGUF file says about its tokenizer, as views into the file. Throws FileError, naming the key, for one of the wrong type, and
/// when the file has no tokenizer.
inline GgufVocabulary read_gguf_vocabulary(const GgufFile& file) {
  const detail::gguf::TokenizerKeys keys(file);
  GgufVocabulary vocabulary;
  const auto model = keys.text("model");
  if (!model) keys.fail("model", "is missing: the file has no tokenizer");
  vocabulary.model = *model;
  vocabulary.pre = keys.text("pre").value_or("");
  vocabulary.tokens = keys.texts("tokens");
  vocabulary.types = keys.integers("token_type");
  vocabulary.scores = keys.floats("scores");
  vocabulary.merges = keys.texts("merges", 2 * Vocabulary::max_ids);
  vocabulary.bos_id = keys.id("bos_token_id");
  vocabulary.unknown_id = keys.id("unknown_token_id");
  for (const std::string_view name : {"eos_token_id", "eot_token_id", "eom_token_id"})
    if (const auto id = keys.id(name)) vocabulary.eos_ids.push_back(*id);
  vocabulary.add_bos = keys.flag("add_bos_token");
  vocabulary.add_eos = keys.flag("add_eos_token");
  vocabulary.add_space_prefix = keys.flag("add_space_prefix").value_or(true);
  return vocabulary;
}

/// The tokenizer of a GGUF file. Throws FileError, naming file and key, for what contradicts itself, and for every model and pre-tokenizer
/// that is not known.
inline BpeTokenizer read_gguf_tokenizer(const GgufFile& file) {
  const GgufVocabulary vocabulary = read_gguf_vocabulary(file);
  try {
    return make_tokenizer(vocabulary);
  } catch (const ValueError& error) {
    detail::gguf::fail(file.path(), error.what());
  }
}

}  // namespace llm
