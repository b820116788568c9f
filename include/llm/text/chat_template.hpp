// Chat templates: the messages of a conversation written as the one text that a model was trained on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/jinja/interpreter.hpp>
#include <llm/text/jinja/parser.hpp>
#include <llm/text/known_chat_templates.hpp>
#include <llm/text/text_range.hpp>

namespace llm {

/// One turn: who speaks ("system", "user", "assistant"; letters, digits, '_' and '-'), and what.
struct ChatMessage {
  std::string role, content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

/// How messages are written.
struct ChatOptions {
  bool add_generation_prompt = true;  ///< ends with the beginning of an answer, for the model to go on
  /// More variables of the template, such as {"enable_thinking", false} or {"date_string", "26 Jul 2024"}.
  std::vector<std::pair<std::string, std::variant<bool, std::string>>> variables = {};
  std::optional<std::int64_t> unix_time = {};  ///< what a template takes for now, in seconds since 1970; else the clock is asked
};

/// A conversation as text, and which parts of it the messages brought: in those nothing is a special token.
struct ChatText {
  std::string text;
  std::vector<TextRange> plain;  ///< what EncodeOptions::plain takes
};

/// A template in the language Jinja, as models carry it in tokenizer_config.json, chat_template.jinja or a GGUF file; it prints what
/// transformers' apply_chat_template prints. Copies are cheap; many threads may use one.
class ChatTemplate {
 public:
  /// Throws ValueError, naming the line, for what is no template and for what is not known (hint: ChatTemplate::named).
  explicit ChatTemplate(std::string_view source) {
    if (source.size() > max_source_bytes)
      throw ValueError(detail::concat("llm::ChatTemplate: ", source.size(), " bytes are too many for a template"));
    body_ = std::make_shared<const detail::jinja::Body>(detail::jinja::Parser::parse(source));
  }

  /// One of known_chat_templates(). Throws ValueError naming all when there is none of that name.
  static ChatTemplate named(std::string_view name) {
    std::string names;
    for (const KnownChatTemplate& known : known_chat_templates()) {
      if (known.name == name) return ChatTemplate(known.source);
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    throw ValueError(detail::concat("llm::ChatTemplate: none is named ", detail::in_quotes(name), "; there are ", names));
  }

  /// The text of a conversation. `bos` and `eos` are the spellings of these tokens, empty when there are none. Throws ValueError for
  /// messages that the template refuses, such as two turns of the user, for invalid UTF-8, and for what the template uses and this
  /// library does not know.
  ChatText write(std::span<const ChatMessage> messages, std::string_view bos, std::string_view eos, const ChatOptions& options = {}) const {
    using namespace detail::jinja;
    List all;
    std::size_t bytes = 0;
    for (const ChatMessage& message : messages) {
      check(message);
      Dict turn;
      turn.set("role", Value(message.role));  // a part of the template's own markers
      turn.set("content", Value(MarkedText(message.content, true)));
      bytes += message.role.size() + message.content.size() + 1;
      all.emplace_back(std::move(turn));
    }
    Dict variables;
    variables.set("messages", Value(std::move(all)));
    variables.set("tools", Value());
    variables.set("documents", Value());
    variables.set("add_generation_prompt", Value(options.add_generation_prompt));
    if (!bos.empty()) variables.set("bos_token", Value(std::string(bos)));
    if (!eos.empty()) variables.set("eos_token", Value(std::string(eos)));
    for (const auto& [name, value] : options.variables) {
      const auto* text = std::get_if<std::string>(&value);
      variables.set(name, text == nullptr ? Value(std::get<bool>(value)) : Value(MarkedText(*text, true)));
    }
    const std::int64_t now = options.unix_time ? *options.unix_time : static_cast<std::int64_t>(std::time(nullptr));
    const MarkedText text = Interpreter(std::move(variables), now, bytes).run(*body_);
    return {std::string(text.bytes()), text.plain()};
  }

  static constexpr std::size_t max_source_bytes = std::size_t{1} << 20;

 private:
  static void check(const ChatMessage& message) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    if (message.role.empty() || !std::all_of(message.role.begin(), message.role.end(), letter))
      throw ValueError(detail::concat("llm::ChatTemplate: ", detail::in_quotes(message.role), " is no role (hint: \"user\")"));
    if (const std::size_t at = find_invalid_utf8(message.content); at != std::string::npos)
      throw ValueError(
          detail::concat("llm::ChatTemplate: a message is not valid UTF-8 at byte ", at, " (hint: llm::Utf8Stream replaces what is none)"));
  }

  std::shared_ptr<const detail::jinja::Body> body_;
};

}  // namespace llm
