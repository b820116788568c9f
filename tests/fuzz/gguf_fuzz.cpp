// libFuzzer's entry for GGUF files:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/gguf_fuzz.cpp -o fuzz
//   ./fuzz -max_len=4096 tests/fuzz/corpus/gguf
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/gguf_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_gguf(std::as_bytes(std::span(data, size)));
  return 0;
}
