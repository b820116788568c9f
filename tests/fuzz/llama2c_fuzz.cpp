// libFuzzer's entry for files of llama2.c:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/llama2c_fuzz.cpp -o fuzz
//   ./fuzz tests/fuzz/corpus/llama2c
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/llama2c_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_llama2c(std::as_bytes(std::span(data, size)));
  return 0;
}
