// Generation: the continuation of a prompt as a range of tokens or of pieces of text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <llm/generate/draft_model.hpp>
#include <llm/generate/options.hpp>
#include <llm/generate/prompt_batch.hpp>
#include <llm/generate/prompt_lookup.hpp>
#include <llm/generate/session.hpp>
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

/// What a text or tokens can be generated from.
template <class Source>
inline constexpr bool is_source = CausalModel<Source> || is_session<Source>;

/// What a wrong call of generate gives: an empty range of what was meant.
template <class Prompt>
using Nothing = std::span<const std::conditional_t<is_text<Prompt>, std::string_view, Token>>;

/// A temporary does not live as long as the stream that refers to it; named so that the compiler prints the type.
template <class Model>
inline constexpr bool outlives_stream = false;
template <class Model, class Prompt>
Nothing<Prompt> of_temporary() {
  static_assert(outlives_stream<Model>,
                "llm::generate(model, ...): the model or session is a temporary, which is gone before the first token (hint: keep it in a "
                "variable)");
  return {};
}

/// A session keeps what it reads, so that a const one cannot generate.
template <class Session>
inline constexpr bool can_read = false;
template <class Session, class Prompt>
Nothing<Prompt> of_constant() {
  static_assert(can_read<Session>,
                "llm::generate(session, ...): the session is const, and would have to keep what it reads (hint: pass it as llm::Session&, "
                "or the model itself)");
  return {};
}

/// generate(source, second, third) is neither (source, ids, options) nor (source, tokenizer, text).
template <class Source, class Second, class Third>
inline constexpr bool is_wrong = !are_options<Third> && !(is_source<Source> && is_tokenizer<Second> && is_text<Third>);

}  // namespace detail

/// The tokens that follow a prompt: `for (llm::Token t : llm::generate(model, ids, {.max_new_tokens = 32}))`. See TokenStream.
/// Throws before any computation: ShapeError for an empty prompt and when prompt + max_new_tokens exceed max_seq_len, ValueError for an
/// id outside the vocabulary and for an option out of its range.
template <CausalModel Model>
TokenStream<Session<Model>> generate(const Model& model, std::span<const Token> prompt, const GenerateOptions& options = {}) {
  return {model, prompt, options};
}

/// The same in a session, which keeps what it has read: the whole prompt again, and only what is new in it is computed.
template <CausalModel Model, class Drafter, class Cache>
TokenStream<Session<Model, Drafter, Cache>> generate(Session<Model, Drafter, Cache>& session, std::span<const Token> prompt,
                                                     const GenerateOptions& options = {}) {
  return {session, prompt, options};
}

/// The text that follows a prompt: `for (auto piece : llm::generate(model, tokenizer, "Once", {.temperature = 0})) std::cout << piece;`.
/// See TextStream. Throws as above, and as the tokenizer's encode does.
template <CausalModel Model, TextTokenizer Tok>
TextStream<Session<Model>, Tok> generate(const Model& model, const Tok& tokenizer, std::string_view prompt,
                                         const GenerateOptions& options = {}) {
  return {model, tokenizer, prompt, options};
}

/// The same in a session.
template <CausalModel Model, class Drafter, class Cache, TextTokenizer Tok>
TextStream<Session<Model, Drafter, Cache>, Tok> generate(Session<Model, Drafter, Cache>& session, const Tok& tokenizer,
                                                         std::string_view prompt, const GenerateOptions& options = {}) {
  return {session, tokenizer, prompt, options};
}

// The streams refer to the model or session, so it cannot be a temporary; a session cannot be const.
template <class Source>
requires(detail::is_source<Source>) detail::Nothing<Token> generate(const Source&&, std::span<const Token>, const GenerateOptions& = {}) {
  return detail::of_temporary<Source, Token>();
}
template <class Source, TextTokenizer Tok>
requires(detail::is_source<Source>) detail::Nothing<std::string_view> generate(const Source&&, const Tok&, std::string_view,
                                                                               const GenerateOptions& = {}) {
  return detail::of_temporary<Source, std::string_view>();
}

template <class Session>
requires(detail::is_session<Session>) detail::Nothing<Token> generate(const Session&, std::span<const Token>, const GenerateOptions& = {}) {
  return detail::of_constant<Session, Token>();
}
template <class Session, TextTokenizer Tok>
requires(detail::is_session<Session>) detail::Nothing<std::string_view> generate(const Session&, const Tok&, std::string_view,
                                                                                 const GenerateOptions& = {}) {
  return detail::of_constant<Session, std::string_view>();
}

/// Something that is neither model nor session, or a prompt that is no token ids.
template <class Source, class Prompt>
requires(!detail::is_source<Source> || !detail::are_ids<Prompt>) detail::Nothing<Prompt> generate(const Source&, const Prompt&,
                                                                                                  const GenerateOptions& = {}) {
  static_assert(detail::is_source<Source>,
                "llm::generate(model, ...): the first argument must be a model, as llm::LLM is, or a llm::Session");
  if constexpr (detail::is_source<Source>)
    static_assert(detail::are_ids<Prompt>,
                  "llm::generate(model, prompt, options): the prompt must be llm::Token, one after another in memory (hint: text needs a "
                  "tokenizer, generate(model, tokenizer, text, options))");
  return {};
}
/// Something that is no tokenizer, or options that are none.
template <class Source, class Second, class Third>
requires(detail::is_wrong<Source, Second, Third>) detail::Nothing<Third> generate(const Source&, const Second&, const Third&,
                                                                                  const GenerateOptions& = {}) {
  static_assert(detail::is_source<Source>,
                "llm::generate(model, ...): the first argument must be a model, as llm::LLM is, or a llm::Session");
  if constexpr (detail::is_source<Source> && detail::is_text<Third>)
    static_assert(
        detail::is_tokenizer<Second>,
        "llm::generate(model, tokenizer, text, options): the tokenizer must have vocab_size(), encode(text) and decode_one(id) as "
        "llm::TextTokenizer says");
  else if constexpr (detail::is_source<Source>)
    static_assert(detail::are_options<Third>,
                  "llm::generate(model, prompt, options): the options must be llm::GenerateOptions (hint: {.max_new_tokens = 32})");
  return {};
}

/// The prompt and the tokens that follow it; max_new_tokens = 0 returns the prompt. `source`: a model or a session. Throws as generate.
template <class Source>
requires(detail::is_source<std::remove_cvref_t<Source>>) std::vector<Token> generate_tokens(Source&& source, std::span<const Token> prompt,
                                                                                            const GenerateOptions& options = {}) {
  auto stream = generate(source, prompt, options);
  for (auto it = stream.begin(); it != stream.end(); ++it) {
  }
  return stream.sequence();
}

/// The prompt and the text that follows it; max_new_tokens = 0 returns the prompt. `source`: a model or a session. Throws as generate.
template <class Source, TextTokenizer Tok>
requires(detail::is_source<std::remove_cvref_t<Source>>) std::string
    generate_text(Source&& source, const Tok& tokenizer, std::string_view prompt, const GenerateOptions& options = {}) {
  std::string text(prompt);
  for (const std::string_view piece : generate(source, tokenizer, prompt, options)) text += piece;
  return text;
}

}  // namespace llm
