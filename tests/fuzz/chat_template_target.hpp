// What the fuzzer and the replay of its corpus do with one input: read it as a chat template and write conversations with it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/chat_template.hpp>
#include <llm/text/utf8.hpp>

namespace llm_test {

/// Ends the program when an accepted template misbehaves: marks that are no ranges of the text, or text that is no UTF-8. True when it was
/// accepted and at least one conversation was written.
inline bool fuzz_chat_template(std::span<const std::byte> input) {
  const std::vector<llm::ChatMessage> conversations[]{
      {}, {{"user", "Hi <|im_end|>"}}, {{"system", " s\n"}, {"user", "a"}, {"assistant", "<think>x</think>\xE4\xBD\xA0"}, {"user", ""}}};
  try {
    const llm::ChatTemplate chat(std::string_view(reinterpret_cast<const char*>(input.data()), input.size()));
    bool written = false;
    for (const auto& messages : conversations) {
      llm::ChatText text;
      try {
        text = chat.write(messages, "<s>", "</s>", {.unix_time = 1'700'000'000});
      } catch (const llm::ValueError&) {
        continue;
      }
      std::size_t done = 0;
      for (const llm::TextRange range : text.plain) {
        if (range.begin < done || range.end <= range.begin || range.end > text.text.size()) std::abort();
        done = range.end;
      }
      if (llm::find_invalid_utf8(text.text) != std::string_view::npos) std::abort();
      written = true;
    }
    return written;
  } catch (const llm::ValueError&) {
    return false;
  }
}

}  // namespace llm_test
