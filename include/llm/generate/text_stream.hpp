// Generated text as a range of pieces: whole characters, and never a part of a stop string.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/generate/stop.hpp>
#include <llm/generate/token_stream.hpp>
#include <llm/text/stream.hpp>
#include <llm/text/tokenizer.hpp>

namespace llm {

/// What generation needs of a tokenizer. decode_one gives the bytes of one id, which need not be whole characters.
template <class Tok>
concept TextTokenizer = requires(const Tok& tokenizer, std::string_view text, Token id) {
  { tokenizer.vocab_size() } -> std::convertible_to<std::int64_t>;
  { tokenizer.encode(text) } -> std::convertible_to<std::vector<Token>>;
  { tokenizer.decode_one(id) } -> std::convertible_to<std::string_view>;
};

/// The text that follows a prompt, as an input range of non-empty std::string_view, each valid until the next ++; made by llm::generate.
/// A piece never splits a UTF-8 character; bytes that are no text become U+FFFD. What may be the beginning of a stop string is held
/// back until it is clear; the stop string itself is not shown. Only ids that the tokenizer has are drawn; where it knows special
/// tokens, those that end a text end it, and the others are not shown, unless the options say otherwise. Otherwise like
/// TokenStream. The model or a caller's session, and the tokenizer, must outlive the stream.
template <class Session, TextTokenizer Tok>
class TextStream {
  using Model = typename Session::model_type;

 public:
  using value_type = std::string_view;
  using iterator = detail::StreamIterator<TextStream>;

  /// Source: a const model, or a session.
  template <class Source>
  TextStream(Source& source, const Tok& tokenizer, std::string_view prompt, const GenerateOptions& options)
      : TextStream(source, tokenizer, std::span<const Token>(ids_of(tokenizer, prompt)), options) {}
  /// The same of a prompt that is encoded already.
  template <class Source>
  TextStream(Source& source, const Tok& tokenizer, std::span<const Token> prompt, const GenerateOptions& options)
      : tokenizer_(&tokenizer),
        tokens_(source, prompt, of_tokens(options)),
        matcher_(options.stop.strings),
        show_special_(options.show_special) {}

  /// Where the stream stands; the first call runs prefill() and goes on to the first piece.
  iterator begin() {
    if (!started_) advance();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// Runs the prompt and draws the first token, if that has not been done.
  void prefill() { tokens_.prefill(); }

  /// The tokens behind the text: prompt and new ones, those of a stop string included.
  const TokenStream<Session>& tokens() const { return tokens_; }
  FinishReason finish_reason() const { return matcher_.stopped() ? FinishReason::stop_string : tokens_.finish_reason(); }

  // For the iterator.
  std::string_view current() const { return piece_; }
  bool done() const { return ended_ && piece_.empty(); }
  void advance() {
    piece_.clear();
    while (piece_.empty() && !ended_) take_token();
    started_ = true;
  }

 private:
  /// Of a text that goes on: without the tokens that a tokenizer may put behind one.
  static std::vector<Token> ids_of(const Tok& tokenizer, std::string_view prompt) {
    if constexpr (requires { tokenizer.encode(prompt, EncodeOptions{}); })
      return tokenizer.encode(prompt, EncodeOptions{.open = true});
    else
      return tokenizer.encode(prompt);
  }
  GenerateOptions of_tokens(GenerateOptions options) const {
    options.stop.strings.clear();
    const std::int64_t known = (std::min)(std::int64_t{Model::V}, std::int64_t{tokenizer_->vocab_size()});
    if (options.vocab_limit == 0) options.vocab_limit = known;
    if constexpr (requires { tokenizer_->eos_ids(); })
      if (!options.ignore_eos)
        for (const Token id : tokenizer_->eos_ids())
          if (id < Model::V) options.stop.token_ids.push_back(id);
    return options;
  }

  std::string text_of(Token id) const {
    if constexpr (requires { tokenizer_->is_special(id); })
      if (!show_special_ && tokenizer_->is_special(id)) return {};
    return std::string(tokenizer_->decode_one(id));
  }

  /// Appends the text of the next token, or what was held back when there is none.
  void take_token() {
    if (taken_)
      tokens_.advance();
    else
      tokens_.prefill();
    taken_ = false;
    if (!tokens_.done()) {
      taken_ = true;
      piece_ = matcher_.feed(utf8_.push(text_of(tokens_.current())));
      ended_ = matcher_.stopped();
      if (ended_) tokens_.drop_drafts();
    } else {
      piece_ = matcher_.feed(utf8_.flush());
      piece_ += matcher_.finish();
      ended_ = true;
    }
  }

  const Tok* tokenizer_;
  TokenStream<Session> tokens_;
  Utf8Stream utf8_;
  StopMatcher matcher_;
  std::string piece_;
  bool show_special_;
  bool started_ = false, ended_ = false;
  bool taken_ = false;  // the text of the current token is in the matcher
};

}  // namespace llm
