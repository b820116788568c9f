// What fuzzers do with a tokenizer that a file gave them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>

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

/// The same with some texts and every id.
inline void use_tokenizer(const llm::BpeTokenizer& tokenizer) {
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
}

/// Reads an input as a tokenizer's file, by `parse`, and uses it. Ends the program when an accepted tokenizer misbehaves. True when it was
/// accepted.
template <class Parse>
bool fuzz_tokenizer(const Parse& parse) {
  llm::BpeParts parts;
  try {
    parts = parse();
  } catch (const llm::FileError&) {
    return false;
  }
  const llm::BpeTokenizer tokenizer(std::move(parts));  // what is read has been checked: nothing is thrown
  use_tokenizer(tokenizer);
  return true;
}

}  // namespace llm_test
