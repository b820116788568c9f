// What the fuzzer and the replay of its corpus do with one input: read it as a SentencePiece model and use the tokenizer.
#pragma once

#include <cstddef>
#include <span>

#include <fuzz/use_tokenizer.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>

namespace llm_test {

/// Ends the program when an accepted tokenizer misbehaves. True when it was accepted.
inline bool fuzz_sentencepiece(std::span<const std::byte> input) {
  return fuzz_tokenizer([&] { return llm::parse_sentencepiece(input, "input"); });
}

}  // namespace llm_test
