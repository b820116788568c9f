// What the fuzzer and the replay of its corpus do with one input: read it as a tokenizer.json and use the tokenizer.
#pragma once

#include <cstddef>
#include <span>

#include <fuzz/use_tokenizer.hpp>
#include <llm/io/tokenizer_json.hpp>

namespace llm_test {

/// Ends the program when an accepted tokenizer misbehaves. True when it was accepted.
inline bool fuzz_tokenizer_json(std::span<const std::byte> input) {
  return fuzz_tokenizer([&] { return llm::parse_tokenizer_json(input, "input"); });
}

}  // namespace llm_test
