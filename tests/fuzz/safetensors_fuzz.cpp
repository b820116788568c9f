// libFuzzer's entry for safetensors files:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/safetensors_fuzz.cpp -o fuzz
//   ./fuzz tests/fuzz/corpus/safetensors
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/safetensors_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_safetensors(std::as_bytes(std::span(data, size)));
  return 0;
}
