// libFuzzer's entry for texts of any bytes:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests '-DLLM_TEST_DATA="tests/data"' \
//     tests/fuzz/tokenizer_text_fuzz.cpp -lpcre2-8 -lutf8proc
//   ./a.out tests/fuzz/corpus/tokenizer_text
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/tokenizer_text_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_tokenizer_text(std::as_bytes(std::span(data, size)));
  return 0;
}
