// What the fuzzer and the replay of its corpus do with one input: encode its bytes with one of four tokenizers, chosen by the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/tokenizer.hpp>

namespace llm_test {

/// Ends the program when valid text does not survive, or bytes that are none are accepted. True when the bytes are text. [bad_utf8]
inline bool fuzz_tokenizer_text(std::span<const std::byte> input) {
  static const std::vector<llm::Tokenizer> tokenizers = [] {
    std::vector<llm::Tokenizer> all;
    for (const char* name : {"tok_gpt2", "tok_llama3", "tok_qwen", "tok_spm"})
      all.push_back(llm::Tokenizer::from_file(std::string(LLM_TEST_DATA "/goldens/") + name));
    return all;
  }();
  if (input.empty()) return false;
  const std::size_t which = std::to_integer<std::size_t>(input[0]) % tokenizers.size();
  const llm::Tokenizer& tokenizer = tokenizers[which];
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const bool valid = llm::find_invalid_utf8(text) == std::string_view::npos;
  std::vector<std::int32_t> ids, letters;
  try {
    ids = tokenizer.encode(text, {.add_special = false});
    letters = tokenizer.encode(text, {.add_special = false, .parse_special = false});
    if (!valid) std::abort();
  } catch (const llm::ValueError&) {
    if (valid) std::abort();
    return false;
  }
  // Qwen's texts come back in NFC, SentencePiece's with spaces for U+2581.
  std::string expected(text);
  if (which == 2) expected = llm::normalize_unicode(text, llm::UnicodeForm::nfc);
  if (which == 3) expected = llm::TextPattern(std::string("\xE2\x96\x81")).replace(text, " ");
  const std::string decoded = tokenizer.decode(ids);
  if (tokenizer.decode(letters) != expected) std::abort();
  if (which != 2 && decoded != expected) std::abort();  // a mark after a special token has no base to join
  llm::DecodeStream stream(tokenizer);
  std::string streamed;
  for (const std::int32_t id : ids) streamed += stream.push(id);
  streamed += stream.flush();
  if (which < 3 && streamed != decoded) std::abort();
  if (llm::find_invalid_utf8(streamed) != std::string::npos) std::abort();
  return true;
}

}  // namespace llm_test
