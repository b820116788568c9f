// What the fuzzer and the replay of its corpus do with one input: read it as a SentencePiece model and use the tokenizer.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <fuzz/use_tokenizer.hpp>
#include <llm/core/error.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>

namespace llm_test {

/// Ends the program when an accepted tokenizer misbehaves. True when it was accepted.
inline bool fuzz_sentencepiece(std::span<const std::byte> input) {
  llm::BpeParts parts;
  try {
    parts = llm::parse_sentencepiece(input, "input");
  } catch (const llm::FileError&) {
    return false;
  }
  const llm::BpeTokenizer tokenizer(std::move(parts));  // what is read has been checked: nothing is thrown
  use_tokenizer(tokenizer);
  return true;
}

}  // namespace llm_test
