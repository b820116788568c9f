// libFuzzer's entry for encoding weights:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/quantize_fuzz.cpp -o fuzz
//   ./fuzz -max_len=4096 tests/fuzz/corpus/quantize
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/quantize_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_quantize(std::as_bytes(std::span(data, size)));
  return 0;
}
