// Small tokenizer.json files for tests: a good one, and what a change of it is refused with.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <llm/io/tokenizer_json.hpp>

namespace llm_test {

/// A byte-level tokenizer over all bytes and a few merges: ids 0 .. 255 in the order of the bytes, then "he", "ll", "hell", "o" joined, and
/// the special token <|end|>.
inline nlohmann::ordered_json tokenizer_json() {
  nlohmann::ordered_json vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte) vocabulary[llm::encode_utf8(llm::detail::bpe::byte_alphabet.character[byte])] = byte;
  int next = 256;
  for (const char* token : {"he", "ll", "hell", "hello", "\xC4\xA0hello"}) vocabulary[token] = next++;
  return {{"version", "1.0"},
          {"added_tokens", nlohmann::ordered_json::array({{{"id", next}, {"content", "<|end|>"}, {"special", true}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocabulary},
            {"merges", nlohmann::ordered_json::array({"h e", "l l", "he ll", "hell o", "\xC4\xA0 hello"})}}}};
}

inline llm::BpeTokenizer tokenizer_of(const std::string& text) {
  return llm::BpeTokenizer(llm::parse_tokenizer_json(std::as_bytes(std::span(text)), "t.json"));
}

/// The text of the FileError that reading it throws; empty when it is read.
inline std::string tokenizer_refusal(const std::string& text) {
  try {
    tokenizer_of(text);
    return {};
  } catch (const llm::FileError& error) {
    return error.what();
  }
}

}  // namespace llm_test
