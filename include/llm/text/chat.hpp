// Conversations as token ids: a tokenizer together with the chat template that its model was trained with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/chat_template.hpp>
#include <llm/text/tokenizer.hpp>

namespace llm {

/// What ends an answer.
struct ChatEnds {
  std::vector<std::int32_t> token_ids;  ///< the tokenizer's eos_ids(), and the token that the template puts after an answer
  std::vector<std::string> strings;     ///< what the template puts there, where that is no special token
};

/// Writes conversations for a model. Copies are cheap; many threads may use one.
class ChatFormat {
 public:
  ChatFormat(Tokenizer tokenizer, ChatTemplate chat_template)
      : tokenizer_(std::move(tokenizer)), template_(std::move(chat_template)), ends_(find_ends()) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const ChatTemplate& chat_template() const { return template_; }
  const ChatEnds& ends() const { return ends_; }

  /// The text of a conversation. Throws ValueError as ChatTemplate::write does.
  ChatText write(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const {
    const auto bos = tokenizer_.bos_id();
    const std::vector<std::int32_t>& eos = tokenizer_.eos_ids();
    return template_.write(messages, bos ? tokenizer_.token(*bos) : "", eos.empty() ? "" : tokenizer_.token(eos.front()), options);
  }

  /// The ids of a conversation, for generate() to go on. A BOS begins it once, whether template or tokenizer adds it, or both. The
  /// template's markers are special tokens; what messages contain is text, also where it is spelled like a special token, unless
  /// `special_in_messages`. Throws ValueError as write() and Tokenizer::encode do.
  std::vector<std::int32_t> encode(std::span<const ChatMessage> messages, const ChatOptions& options = {},
                                   bool special_in_messages = false) const {
    const ChatText chat = write(messages, options);
    EncodeOptions how{.add_special = false};
    if (!special_in_messages) how.plain = chat.plain;
    std::vector<std::int32_t> ids = tokenizer_.encode(chat.text, how);
    // Of the tokens that belong around a text only the first: an EOS at the end would end the conversation.
    const auto bos = tokenizer_.bos_id();
    const std::vector<std::int32_t> around = tokenizer_.encode("");
    const bool adds_bos = bos && !around.empty() && around.front() == *bos;
    if (adds_bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
    return ids;
  }

 private:
  /// Looks at what the template writes after an answer, up to the first special token.
  ChatEnds find_ends() const {
    ChatEnds ends{tokenizer_.eos_ids(), {}};
    ChatText chat;
    try {
      chat = write(std::vector<ChatMessage>{{"user", "question"}, {"assistant", "answer"}}, {.add_generation_prompt = false});
    } catch (const ValueError&) {
      return ends;  // what is wrong shows when a conversation is written
    }
    const std::size_t end_of_answer = chat.plain.empty() ? 0 : chat.plain.back().end;  // what messages bring last
    if (!std::string_view(chat.text).substr(0, end_of_answer).ends_with("answer")) return ends;
    const std::string after = chat.text.substr(end_of_answer);
    std::vector<std::int32_t> ids;
    try {
      ids = tokenizer_.encode(after, {.add_special = false});
    } catch (const ValueError&) {  // characters that the vocabulary lacks cannot come
      return ends;
    }
    const auto end = std::find_if(ids.begin(), ids.end(), [&](std::int32_t id) { return tokenizer_.is_special(id); });
    if (end != ids.end()) {
      if (std::find(ends.token_ids.begin(), ends.token_ids.end(), *end) == ends.token_ids.end()) ends.token_ids.push_back(*end);
      return ends;
    }
    constexpr std::string_view white = " \t\r\n";
    const std::size_t first = after.find_first_not_of(white), last = after.find_last_not_of(white);
    if (!after.empty()) ends.strings.push_back(first == std::string::npos ? after : after.substr(first, last - first + 1));
    return ends;
  }

  Tokenizer tokenizer_;
  ChatTemplate template_;
  ChatEnds ends_;
};

}  // namespace llm
