// libFuzzer's entry for SentencePiece models:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/sentencepiece_fuzz.cpp -lpcre2-8 -lutf8proc
//   ./a.out tests/fuzz/corpus/sentencepiece
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/sentencepiece_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_sentencepiece(std::as_bytes(std::span(data, size)));
  return 0;
}
