// A conversation at the terminal: lines in, answers out, Ctrl-C stops an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <llm/generate/chat_session.hpp>
#include <llm/text.hpp>

#include "interrupt.hpp"
#include "progress.hpp"
#include "terminal.hpp"

namespace examples {

struct ChatLoopOptions {
  std::string system;
  llm::GenerateOptions generate;
  llm::ChatOptions chat;
  bool timings = false;
};

/// Whoever reads lines and shows answers; any session of any model.
template <class Session>
class ChatLoop {
 public:
  ChatLoop(Session& session, llm::ChatFormat format, const ChatLoopOptions& options)
      : options_(options), chat_(session, std::move(format), options.chat) {
    chat_.reset(options_.system);
  }

  /// Until /exit or the end of the input. Whether every turn had an answer.
  bool run() {
    if (asks_) std::fprintf(stderr, "Ctrl-C stops an answer, /reset begins anew, /exit ends.\n");
    bool good = true;
    for (std::string line; ask(line);) {
      if (line == "/exit") break;
      if (line == "/reset") {
        chat_.reset(options_.system);
      } else if (line.starts_with('/') && !line.starts_with("//")) {
        std::fprintf(stderr, "there are /reset and /exit; a line that begins with // says what follows the first of them\n");
      } else if (!line.empty()) {
        good = turn(line.substr(line.starts_with("//") ? 1 : 0)) && good;
      }
    }
    return good;
  }

 private:
  bool ask(std::string& line) {
    if (asks_) {
      std::fputs("> ", stderr);
      std::fflush(stderr);
    }
    if (!std::getline(std::cin, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    llm::Utf8Stream utf8;  // what is no UTF-8 becomes U+FFFD
    line = utf8.push(line) + utf8.flush();
    return true;
  }

  bool turn(const std::string& text) {
    const Interrupt interrupt;
    try {
      Stopwatch watch;
      auto reply = chat_.say(text, options_.generate);
      reply.prefill();
      const double prefill = watch.seconds();
      watch.restart();
      for (const auto piece : reply) {
        show(piece);
        if (interrupt.interrupted()) break;
      }
      show("\n");
      if (options_.timings) print_timings(reply, prefill, watch.seconds());
      return true;
    } catch (const llm::Error& error) {
      std::fprintf(stderr, "chat: %s (hint: /reset begins anew; a larger --context has more room)\n", error.what());
      return false;
    }
  }

  template <class Reply>
  static void print_timings(const Reply& reply, double prefill, double decode) {
    const auto& tokens = reply.text().tokens();
    const std::size_t prompt = tokens.prompt_size(), drawn = tokens.sequence().size() - prompt;
    const auto reused = static_cast<std::size_t>(tokens.reused());
    std::fprintf(stderr, "prompt %zu tokens, %zu of them kept from before, %.1f tokens/s; answer %zu tokens, %.1f tokens/s\n", prompt,
                 reused, static_cast<double>(prompt - reused) / prefill, drawn, drawn > 1 ? static_cast<double>(drawn - 1) / decode : 0.0);
  }

  ChatLoopOptions options_;
  llm::ChatSession<Session> chat_;
  bool asks_ = is_terminal(stdin);
};

}  // namespace examples
