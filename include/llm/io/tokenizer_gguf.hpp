// Reads the tokenizer that a GGUF file carries.
// Source: ggml-org/ggml, docs/gguf.md, "Tokenizer".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/page_release.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>

namespace llm {

namespace detail::gguf {

/// The keys tokenizer.ggml.*, with their types checked; a missing key gives nothing.
class TokenizerKeys {
 public:
  explicit TokenizerKeys(const GgufFile& file) : file_(file) {}

  /// Of a name's length: who reads it makes a copy.
  std::optional<std::string_view> text(std::string_view name) const {
    constexpr std::size_t longest = 1024;
    const auto found = get(name, "a string", [](const GgufValue& value) { return value.text(); });
    if (found && found->size() > longest) fail(name, concat("is ", found->size(), " bytes long, the limit is ", longest));
    return found;
  }
  std::optional<bool> flag(std::string_view name) const {
    return get(name, "a bool", [](const GgufValue& value) { return value.boolean(); });
  }
  std::optional<std::int64_t> id(std::string_view name) const {
    return get(name, "an integer", [](const GgufValue& value) { return value.integer(); });
  }
  /// Arrays of strings, of integers of at most 32 bits, of f32.
  std::optional<GgufArray> texts(std::string_view name, std::int64_t most) const {
    return array_of(name, most, "no array of strings", [](GgufType type) { return type == GgufType::string; });
  }
  std::optional<GgufArray> integers(std::string_view name) const {
    return array_of(name, Vocabulary::max_ids, "no array of integers of 32 bits",
                    [](GgufType type) { return type != GgufType::u64 && type != GgufType::i64 && GgufValue(type, {}).is_integer(); });
  }
  std::optional<GgufArray> floats(std::string_view name) const {
    return array_of(name, Vocabulary::max_ids, "no array of f32", [](GgufType type) { return type == GgufType::f32; });
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
  template <class Fits>
  std::optional<GgufArray> array_of(std::string_view name, std::int64_t most, std::string_view otherwise, const Fits& fits) const {
    auto array = get(name, "an array", [](const GgufValue& value) { return value.array(); });
    if (array && array->size() > most) fail(name, concat("has ", array->size(), " elements, the limit is ", most));
    if (array && !fits(array->element_type())) fail(name, concat("is ", otherwise));
    return array;
  }

  const GgufFile& file_;
};

/// The lists of a file's tokenizer, for bpe::GgufTokenizer: read as they are walked. Pages of a mapped file go again when they have been
/// read.
class TokenizerLists {
 public:
  TokenizerLists(const TokenizerKeys& keys, bool mapped)
      : tokens_(keys.texts("tokens", Vocabulary::max_ids)),
        types_(keys.integers("token_type")),
        scores_(keys.floats("scores")),
        merges_(keys.texts("merges", 2 * Vocabulary::max_ids)),
        release_(mapped ? os::release_pages : nullptr) {
    for (const auto& list : {tokens_, types_, scores_, merges_}) {
      if (!mapped || !list) continue;
      release_all(*list);  // looking for keys has touched what lies around them
      os::map_in_small_parts(list->bytes().data(), list->bytes().size());
    }
  }

  std::size_t tokens() const { return size(tokens_); }
  std::size_t types() const { return size(types_); }
  std::size_t scores() const { return size(scores_); }
  std::size_t merges() const { return size(merges_); }
  std::int64_t type(std::size_t id) const { return *types_->at(static_cast<std::int64_t>(id)).integer(); }
  template <class F>
  void for_each_token(const F& f) const {
    PageRelease types(types_ ? types_->bytes().data() : nullptr, types_ ? release_ : nullptr, step);  // which are read beside the tokens
    const std::size_t width = types_ ? type_bytes(types_->element_type()) : 0;
    for_each(tokens_, [&](std::size_t id, const GgufValue& value) {
      f(id, *value.text());
      types.passed(id * width);
    });
  }
  template <class F>
  void for_each_merge(const F& f) const {
    for_each(merges_, [&](std::size_t rank, const GgufValue& value) { f(rank, *value.text()); });
  }
  template <class F>
  void for_each_score(const F& f) const {
    for_each(scores_, [&](std::size_t id, const GgufValue& value) { f(id, static_cast<float>(*value.floating())); });
  }

 private:
  static constexpr std::size_t step = std::size_t{1} << 18;  // of pages that go, beside a vocabulary that stays

  static std::size_t size(const std::optional<GgufArray>& list) { return list ? static_cast<std::size_t>(list->size()) : 0; }
  void release_all(const GgufArray& list) const {
    if (release_ != nullptr) release_(list.bytes().data(), list.bytes().size());
  }
  template <class F>
  void for_each(const std::optional<GgufArray>& list, const F& f) const {
    if (!list) return;
    const std::byte* const begin = list->bytes().data();
    PageRelease release(begin, release_, step);
    std::size_t i = 0;
    for (const GgufValue value : *list) {
      f(i++, value);
      release.passed(static_cast<std::size_t>(value.bytes().data() - begin));
    }
    release_all(*list);
  }

  std::optional<GgufArray> tokens_, types_, scores_, merges_;
  ReleasePages release_;
};

}  // namespace detail::gguf

namespace detail::gguf {

/// All keys but those of lists.
inline GgufVocabulary read_tokenizer_keys(const TokenizerKeys& keys) {
  GgufVocabulary vocabulary;
  const auto model = keys.text("model");
  if (!model) keys.fail("model", "is missing: the file has no tokenizer");
  if (*model == "no_vocab") keys.fail("model", "is 'no_vocab': the file has no tokenizer");
  vocabulary.model = *model;
  vocabulary.pre = keys.text("pre").value_or("");
  vocabulary.bos_id = keys.id("bos_token_id");
  vocabulary.unknown_id = keys.id("unknown_token_id");
  for (const std::string_view name : GgufVocabulary::eos_keys)
    if (const auto id = keys.id(name)) vocabulary.eos_ids.push_back(*id);
  vocabulary.add_bos = keys.flag("add_bos_token");
  vocabulary.add_eos = keys.flag("add_eos_token");
  vocabulary.add_space_prefix = keys.flag("add_space_prefix").value_or(true);
  return vocabulary;
}

}  // namespace detail::gguf

/// What a GGUF file says about its tokenizer, as views into the file. Throws FileError, naming the key, for one of the wrong type, and
/// when the file has no tokenizer.
inline GgufVocabulary read_gguf_vocabulary(const GgufFile& file) {
  const detail::gguf::TokenizerKeys keys(file);
  GgufVocabulary vocabulary = detail::gguf::read_tokenizer_keys(keys);
  const detail::gguf::TokenizerLists lists(keys, file.mapped());
  vocabulary.tokens.reserve(lists.tokens());
  lists.for_each_token([&](std::size_t, std::string_view token) { vocabulary.tokens.push_back(token); });
  for (std::size_t id = 0; id < lists.types(); ++id) vocabulary.types.push_back(lists.type(id));
  lists.for_each_score([&](std::size_t, float score) { vocabulary.scores.push_back(score); });
  vocabulary.merges.reserve(lists.merges());
  lists.for_each_merge([&](std::size_t, std::string_view merge) { vocabulary.merges.push_back(merge); });
  return vocabulary;
}

/// The tokenizer of a GGUF file, whose lists are read where they lie. Throws FileError, naming file and key, for what contradicts itself,
/// and for every model and pre-tokenizer that is not known: at the price of less than 16 MiB of memory.
inline BpeTokenizer read_gguf_tokenizer(const GgufFile& file) {
  const detail::gguf::TokenizerKeys keys(file);
  const GgufVocabulary vocabulary = detail::gguf::read_tokenizer_keys(keys);
  const detail::gguf::TokenizerLists lists(keys, file.mapped());
  try {
    return BpeTokenizer(detail::bpe::GgufTokenizer(vocabulary, lists).parts());
  } catch (const ValueError& error) {
    detail::gguf::fail(file.path(), error.what());
  }
}

}  // namespace llm
