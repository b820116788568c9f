// A conversation with a model: turns, answers as they come, and only what is new in a turn computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/session.hpp>
#include <llm/generate/text_stream.hpp>
#include <llm/text/chat.hpp>

namespace llm {

template <class Session>
class ChatSession;

/// An answer as an input range of pieces of text, like TextStream; made by ChatSession::say(). What was taken of it is in the
/// conversation, also when the loop is left early or an error ends it. The conversation must outlive it and stay where it is; when it has
/// gone on, with another say() or reset(), going on with an older answer throws ValueError.
template <class Session>
class ChatReply {
 public:
  using value_type = std::string_view;
  using iterator = detail::StreamIterator<ChatReply>;

  iterator begin() {
    if (!started_) advance();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// Runs the prompt and draws the first token, if that has not been done.
  void prefill() {
    (void)answer();
    stream_.prefill();
  }
  const TextStream<Session, Tokenizer>& text() const { return stream_; }
  FinishReason finish_reason() const { return stream_.finish_reason(); }

  // For the iterator.
  std::string_view current() const { return stream_.current(); }
  bool done() const { return stream_.done(); }
  void advance() {
    (void)answer();
    if (started_) {
      stream_.advance();
    } else {
      (void)stream_.begin();
      started_ = true;
    }
    if (!done()) answer().content += current();  // looked for again: a hook may have begun another turn
  }

 private:
  friend class ChatSession<Session>;
  ChatReply(Session& session, const Tokenizer& tokenizer, std::span<const Token> prompt, const GenerateOptions& options)
      : stream_(session, tokenizer, prompt, options) {}

  ChatMessage& answer() const {
    if (chat_->turn_ != turn_)
      throw ValueError("llm::ChatReply: the conversation has gone on since this answer began (hint: one answer at a time)");
    return chat_->messages_.back();
  }

  TextStream<Session, Tokenizer> stream_;
  ChatSession<Session>* chat_ = nullptr;
  std::uint64_t turn_ = 0;
  bool started_ = false;
};

/// The turns of a conversation and the session that has read them. A say() that throws leaves the turns as they are: a conversation too
/// long for the model loses nothing. What throws while the answer is drawn leaves the turn and what was taken of its answer, and ++ tries
/// again. The session must outlive it.
template <class Session>
class ChatSession {
 public:
  ChatSession(Session& session, ChatFormat format, ChatOptions options = {})
      : session_(&session), format_(std::move(format)), options_(std::move(options)) {
    options_.add_generation_prompt = true;
  }

  const std::vector<ChatMessage>& messages() const { return messages_; }
  const ChatFormat& format() const { return format_; }

  /// Begins anew. `system` tells the model what it is; empty: the template's own words, if any.
  void reset(std::string system = "") {
    ++turn_;
    messages_.clear();
    if (!system.empty()) messages_.push_back({"system", std::move(system)});
  }

  /// Says something and gives the answer. The sampling and max_new_tokens are those of `generate`, cut to the room there is; the stop
  /// conditions come in addition to the format's, and each turn has random numbers of its own. Throws as ChatFormat::encode and as
  /// generate do: ShapeError when the conversation no longer fits the session.
  ChatReply<Session> say(std::string text, GenerateOptions generate = {}) {
    const std::size_t before = messages_.size();
    messages_.push_back({"user", std::move(text)});
    try {
      const std::vector<Token> prompt = format_.encode(messages_, options_);
      const std::int64_t room = session_->capacity() - static_cast<std::int64_t>(prompt.size());
      if (room > 0 && generate.max_new_tokens > room) generate.max_new_tokens = room;
      generate.stream += before;
      add_ends(generate);
      ChatReply<Session> reply(*session_, format_.tokenizer(), prompt, generate);
      messages_.push_back({"assistant", ""});
      reply.chat_ = this;
      reply.turn_ = ++turn_;
      return reply;
    } catch (...) {
      messages_.resize(before);
      throw;
    }
  }

 private:
  void add_ends(GenerateOptions& generate) const {
    const ChatEnds& ends = format_.ends();
    generate.stop.strings.insert(generate.stop.strings.end(), ends.strings.begin(), ends.strings.end());
    for (const Token id : ends.token_ids)
      if (id < Session::model_type::V) generate.stop.token_ids.push_back(id);
  }

  friend class ChatReply<Session>;

  Session* session_;
  ChatFormat format_;
  ChatOptions options_;
  std::vector<ChatMessage> messages_;  // the last is the answer of the turn
  std::uint64_t turn_ = 0;             // which turn that is, resets counted too
};

}  // namespace llm
