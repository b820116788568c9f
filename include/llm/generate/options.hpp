// What a generation is asked for, why it ended, and the checks that stand before any computation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/logits_hook.hpp>
#include <llm/generate/sampling.hpp>
#include <llm/generate/stop.hpp>

namespace llm {

/// GenerateOptions::max_new_tokens: until the context or the caller's cache is full.
inline constexpr std::int64_t as_many_as_fit = -1;

/// How to continue a prompt: `{.max_new_tokens = 32, .temperature = 0}`. The sampling fields are those of SamplingOptions.
struct GenerateOptions {
  std::int64_t max_new_tokens = as_many_as_fit;  ///< at most this many; 0 computes nothing
  bool fit_context = false;                      ///< fewer than max_new_tokens, and no error, where there is not room for all of them
  float temperature = 1.0f;                      ///< 0 takes the most probable token
  std::int64_t top_k = 0;                        ///< 0 is off
  float top_p = 1.0f;                            ///< 1 is off
  float min_p = 0.0f;                            ///< 0 is off
  float repetition_penalty = 1.0f;               ///< 1 is off; looks at the prompt and the new tokens
  std::uint64_t seed = 0;                        ///< same seed and stream, same tokens
  std::uint64_t stream = 0;                      ///< which of the seed's independent sequences of random numbers
  StopConditions stop = {};                      ///< stop tokens; stop strings where there is a tokenizer
  bool ignore_eos = false;                       ///< goes on after the tokens that end a text, where a tokenizer knows them
  bool show_special = false;                     ///< the text shows special tokens as they are spelled
  std::int64_t vocab_limit = 0;                  ///< only ids below are drawn, when the model has more than there is text for; 0: all
  std::optional<std::int64_t> logprobs = {};     ///< of each drawn token, and of the n most probable; see Logprobs. Empty: none
  std::vector<std::int64_t> hidden_layers =
      {};  ///< hidden states to keep, as LLM::hidden_states counts them; see TokenStream::hidden_state
  LogitsHook logits_hook =
      {};  ///< sees and may change the logits of the ids that can be drawn, before all of the above; each generation has a copy

  SamplingOptions sampling() const { return {temperature, top_k, top_p, min_p, repetition_penalty, seed}; }
};

/// Why a generation ended.
enum class FinishReason : std::uint8_t {
  none,         ///< it goes on
  length,       ///< max_new_tokens, or the context is full
  stop_token,   ///< a stop token was drawn
  stop_string,  ///< the text contained a stop string
  cancelled     ///< by PromptBatch::cancel
};

namespace detail {

/// How many ids can be drawn. Throws ValueError when the limit is negative or more than the model has.
inline std::int64_t drawable_ids(const GenerateOptions& options, std::int64_t vocab_size) {
  if (options.vocab_limit < 0 || options.vocab_limit > vocab_size)
    throw ValueError(concat("llm::generate: vocab_limit is ", options.vocab_limit, ", expected 0 (all) to vocab_size = ", vocab_size));
  return options.vocab_limit == 0 ? vocab_size : options.vocab_limit;
}

/// Throws ValueError for an id that is outside the ids of the generation, 0 .. size - 1.
inline void check_ids(const char* what, std::span<const std::int32_t> ids, std::int64_t size) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= size)
      throw ValueError(concat("llm::generate: ", what, " ", i, " is ", ids[i], ", outside the vocabulary 0 .. ", size - 1));
}

/// How many positions there may be, and what that limit is called.
struct Room {
  std::int64_t capacity;
  const char* name;
  const char* hint;
};

/// The number of new tokens to generate. Throws ShapeError when the prompt is empty, or when it and the tokens asked for do not fit,
/// and ValueError for a negative number.
inline std::int64_t new_token_limit(std::size_t prompt, const GenerateOptions& options, const Room& room) {
  const std::int64_t wanted = options.max_new_tokens;
  if (prompt == 0) throw ShapeError("llm::generate: the prompt is empty, expected at least one token");
  if (wanted < 0 && wanted != as_many_as_fit)
    throw ValueError(concat("llm::generate: max_new_tokens is ", wanted, ", expected 0 or more, or -1 (llm::as_many_as_fit)"));
  const auto length = static_cast<std::int64_t>(prompt);
  const std::int64_t left = room.capacity - length;
  if (left >= 0 && wanted <= left) return wanted == as_many_as_fit ? left : wanted;
  if (left >= 0 && options.fit_context) return left;
  std::string text = concat("llm::generate: ", length, " prompt + ", wanted == as_many_as_fit ? 0 : wanted, " new tokens exceed ",
                            room.name, " ", room.capacity, " (hint: ");
  if (left > 0) text += concat("at most ", left, " new tokens fit; ");
  throw ShapeError(text + room.hint + ")");
}

/// All checks of a request that need no memory; the number of new tokens to generate. Throws as llm::generate says.
inline std::int64_t check_request(std::span<const std::int32_t> prompt, const GenerateOptions& options, std::int64_t vocab_size,
                                  const Room& room) {
  const std::int64_t drawable = drawable_ids(options, vocab_size), limit = new_token_limit(prompt.size(), options, room);
  validate(options.sampling());
  if (!options.stop.strings.empty())
    throw ValueError("llm::generate: stop strings need a tokenizer, as in generate(model, tokenizer, text, options)");
  if (options.logprobs && (*options.logprobs < 0 || *options.logprobs > drawable))
    throw ValueError(concat("llm::generate: logprobs is ", *options.logprobs, ", expected 0 to the ", drawable, " ids that can be drawn"));
  check_ids("id of prompt token", prompt, drawable);
  check_ids("id of stop token", options.stop.token_ids, vocab_size);
  return limit;
}

}  // namespace detail
}  // namespace llm
