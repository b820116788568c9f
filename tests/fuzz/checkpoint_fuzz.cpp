// libFuzzer's entry for checkpoints:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/checkpoint_fuzz.cpp -o fuzz
//   ./fuzz -max_len=16384 tests/fuzz/corpus/checkpoint
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/checkpoint_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_checkpoint(std::as_bytes(std::span(data, size)));
  return 0;
}
