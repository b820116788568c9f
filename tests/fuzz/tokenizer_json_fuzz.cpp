// libFuzzer's entry for tokenizer.json files:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/tokenizer_json_fuzz.cpp -lpcre2-8 -lutf8proc
//   ./a.out tests/fuzz/corpus/tokenizer_json
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/tokenizer_json_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_tokenizer_json(std::as_bytes(std::span(data, size)));
  return 0;
}
