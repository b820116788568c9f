// Generation: the continuation of a prompt as a range of tokens or of pieces of text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/generate/batch.hpp>
#include <llm/generate/options.hpp>
#include <llm/generate/text_stream.hpp>
#include <llm/generate/token_stream.hpp>

namespace llm {

namespace detail {

// Named so that the compiler prints the type and not how the concept is made.
template <class Model>
inline constexpr bool is_model = CausalModel<Model>;
template <class Tok>
inline constexpr bool is_tokenizer = TextTokenizer<Tok>;
template <class Options>
inline constexpr bool are_options = std::is_convertible_v<const Options&, GenerateOptions>;
template <class Prompt>
inline constexpr bool are_ids = std::is_convertible_v<const Prompt&, std::span<const Token>>;
template <class Prompt>
inline constexpr bool is_text = std::is_convertible_v<const Prompt&, std::string_view>;

/// What a wrong call of generate gives: an empty range of what was meant.
template <class Prompt>
using Nothing = std::span<const std::conditional_t<is_text<Prompt>, std::string_view, Token>>;

/// A temporary does not live as long as the stream that refers to it; named so that the compiler prints the type.
template <class Model>
inline constexpr bool outlives_stream = false;
template <class Model, class Prompt>
Nothing<Prompt> of_temporary() {
  static_assert(outlives_stream<Model>,
                "llm::generate(model, ...): the model is a temporary, which is gone before the first token (hint: keep it in a variable)");
  return {};
}

/// generate(model, second, third) is neither (model, ids, options) nor (model, cache, ids) nor (model, tokenizer, text).
template <class Model, class Second, class Third>
inline constexpr bool is_wrong = [] {
  if (are_options<Third>) return false;
  if (!is_model<Model>) return true;
  return !are_ids<Third> && !(is_tokenizer<Second> && is_text<Third>);
}();

}  // namespace detail

/// The tokens that follow a prompt: `for (llm::Token t : llm::generate(model, ids, {.max_new_tokens = 32}))`. See TokenStream.
/// Throws before any computation: ShapeError for an empty prompt and when prompt + max_new_tokens exceed max_seq_len, ValueError for an
/// id outside the vocabulary and for an option out of its range.
template <CausalModel Model>
TokenStream<Model> generate(const Model& model, std::span<const Token> prompt, const GenerateOptions& options = {}) {
  return {model, prompt, options};
}

/// The same in a cache of the caller's with one row, after what it holds: the next turn of a chat, or another element type. An error
/// leaves the cache usable and as it was before the step.
template <CausalModel Model, class Cache>
TokenStream<Model, Cache> generate(const Model& model, Cache& cache, std::span<const Token> prompt, const GenerateOptions& options = {}) {
  return {model, cache, prompt, options};
}

/// The text that follows a prompt: `for (auto piece : llm::generate(model, tokenizer, "Once", {.temperature = 0})) std::cout << piece;`.
/// See TextStream. Throws as above, and as the tokenizer's encode does.
template <CausalModel Model, TextTokenizer Tok>
TextStream<Model, Tok> generate(const Model& model, const Tok& tokenizer, std::string_view prompt, const GenerateOptions& options = {}) {
  return {model, tokenizer, prompt, options};
}

/// The same in a cache of the caller's.
template <CausalModel Model, class Cache, TextTokenizer Tok>
TextStream<Model, Tok, Cache> generate(const Model& model, Cache& cache, const Tok& tokenizer, std::string_view prompt,
                                       const GenerateOptions& options = {}) {
  return {model, cache, tokenizer, prompt, options};
}

// The streams refer to the model, so it cannot be a temporary.
template <CausalModel Model>
detail::Nothing<Token> generate(const Model&&, std::span<const Token>, const GenerateOptions& = {}) {
  return detail::of_temporary<Model, Token>();
}
template <CausalModel Model, class Cache>
detail::Nothing<Token> generate(const Model&&, Cache&, std::span<const Token>, const GenerateOptions& = {}) {
  return detail::of_temporary<Model, Token>();
}
template <CausalModel Model, TextTokenizer Tok>
detail::Nothing<std::string_view> generate(const Model&&, const Tok&, std::string_view, const GenerateOptions& = {}) {
  return detail::of_temporary<Model, std::string_view>();
}
template <CausalModel Model, class Cache, TextTokenizer Tok>
detail::Nothing<std::string_view> generate(const Model&&, Cache&, const Tok&, std::string_view, const GenerateOptions& = {}) {
  return detail::of_temporary<Model, std::string_view>();
}

/// Something that is no model, or a prompt that is no token ids.
template <class Model, class Prompt>
requires(!CausalModel<Model> || !detail::are_ids<Prompt>) detail::Nothing<Prompt> generate(const Model&, const Prompt&,
                                                                                           const GenerateOptions& = {}) {
  static_assert(detail::is_model<Model>, "llm::generate(model, ...): the first argument must be a model, as llm::LLM is");
  if constexpr (detail::is_model<Model>)
    static_assert(detail::are_ids<Prompt>,
                  "llm::generate(model, prompt, options): the prompt must be llm::Token, one after another in memory (hint: text needs a "
                  "tokenizer, generate(model, tokenizer, text, options))");
  return {};
}
/// Something that is no tokenizer, or options that are none.
template <class Model, class Second, class Third>
requires(detail::is_wrong<Model, Second, Third>) detail::Nothing<Third> generate(const Model&, const Second&, const Third&,
                                                                                 const GenerateOptions& = {}) {
  static_assert(detail::is_model<Model>, "llm::generate(model, ...): the first argument must be a model, as llm::LLM is");
  if constexpr (detail::is_model<Model> && detail::is_text<Third>)
    static_assert(
        detail::is_tokenizer<Second>,
        "llm::generate(model, tokenizer, text, options): the tokenizer must have vocab_size(), encode(text) and decode_one(id) as "
        "llm::TextTokenizer says");
  else if constexpr (detail::is_model<Model>)
    static_assert(detail::are_options<Third>,
                  "llm::generate(model, prompt, options): the options must be llm::GenerateOptions (hint: {.max_new_tokens = 32})");
  return {};
}

/// The prompt and the tokens that follow it; max_new_tokens = 0 returns the prompt. Throws as generate.
template <CausalModel Model>
std::vector<Token> generate_tokens(const Model& model, std::span<const Token> prompt, const GenerateOptions& options = {}) {
  auto stream = generate(model, prompt, options);
  for (auto it = stream.begin(); it != stream.end(); ++it) {
  }
  return stream.sequence();
}

/// The prompt and the text that follows it; max_new_tokens = 0 returns the prompt. Throws as generate.
template <CausalModel Model, TextTokenizer Tok>
std::string generate_text(const Model& model, const Tok& tokenizer, std::string_view prompt, const GenerateOptions& options = {}) {
  std::string text(prompt);
  for (const std::string_view piece : generate(model, tokenizer, prompt, options)) text += piece;
  return text;
}

}  // namespace llm
