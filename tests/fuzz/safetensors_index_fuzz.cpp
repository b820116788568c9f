// libFuzzer's entry for indices of sharded models:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/safetensors_index_fuzz.cpp -o fuzz
//   ./fuzz tests/fuzz/corpus/safetensors_index
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/safetensors_index_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_safetensors_index(std::as_bytes(std::span(data, size)));
  return 0;
}
