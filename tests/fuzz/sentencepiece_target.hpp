// What the fuzzer and the replay of its corpus do with one input: read it as a SentencePiece model, and as llama2.c's form of one, and use
// the tokenizer.
#pragma once

#include <cstddef>
#include <span>

#include <fuzz/use_tokenizer.hpp>
#include <llm/io/tokenizer_llama2c.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>

namespace llm_test {

/// Ends the program when an accepted tokenizer misbehaves. True when it was accepted.
inline bool fuzz_sentencepiece(std::span<const std::byte> input) {
  const bool whole = fuzz_tokenizer([&] { return llm::parse_sentencepiece(input, "input"); });
  const bool pieces = fuzz_tokenizer([&] { return llm::parse_llama2c_tokenizer(input, "input"); });
  return whole || pieces;
}

}  // namespace llm_test
