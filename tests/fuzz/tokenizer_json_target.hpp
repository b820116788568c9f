// What the fuzzer and the replay of its corpus do with one input: read it as a tokenizer.json and use the tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/tokenizer_json.hpp>

namespace llm_test {

/// Ends the program when ids or texts are not what they must be, whatever the tokenizer: a text may only be refused.
inline void use_tokenizer(const llm::BpeTokenizer& tokenizer, std::string_view text) {
  try {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    for (const std::int32_t id : ids)
      if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
    if (ids != tokenizer.encode(text)) std::abort();
    for (const bool skip : {false, true})
      if (llm::find_invalid_utf8(tokenizer.decode(ids, skip)) != std::string::npos) std::abort();
    tokenizer.encode(text, {.add_special = false, .parse_special = false});
    tokenizer.pre_tokens(text);
  } catch (const llm::ValueError&) {
  }
}

/// Ends the program when an accepted tokenizer misbehaves. True when it was accepted.
inline bool fuzz_tokenizer_json(std::span<const std::byte> input) {
  llm::BpeParts parts;
  try {
    parts = llm::parse_tokenizer_json(input, "input");
  } catch (const llm::FileError&) {
    return false;
  }
  const llm::BpeTokenizer tokenizer(std::move(parts));  // what is read has been checked: nothing is thrown
  for (const std::string_view text :
       {"", "Hello  world, it's 1234!\r\n\n", "\xE4\xBD\xA0\xE5\xA5\xBD e\xCC\x81 \xF0\x9F\x98\x80<s> <|end|>x", "\xE2\x96\x81 a", "\xFF"})
    use_tokenizer(tokenizer, text);
  for (std::int32_t id = 0; id < tokenizer.vocab_size() && id < 2000; ++id) {
    try {
      tokenizer.decode_one(id);
      tokenizer.is_special(id);
    } catch (const llm::ValueError&) {
      continue;
    }
  }
  return true;
}

}  // namespace llm_test
