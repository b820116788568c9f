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
void generate(const Model&& model, std::span<const Token> prompt, const GenerateOptions& options = {}) = delete;
template <CausalModel Model, class Cache>
void generate(const Model&& model, Cache& cache, std::span<const Token> prompt, const GenerateOptions& options = {}) = delete;
template <CausalModel Model, TextTokenizer Tok>
void generate(const Model&& model, const Tok& tokenizer, std::string_view prompt, const GenerateOptions& options = {}) = delete;
template <CausalModel Model, class Cache, TextTokenizer Tok>
void generate(const Model&& model, Cache& cache, const Tok& tokenizer, std::string_view prompt,
              const GenerateOptions& options = {}) = delete;

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
