// libFuzzer's entry for config.json files:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/hf_config_fuzz.cpp -o fuzz
//   ./fuzz tests/fuzz/corpus/hf_config
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/hf_config_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_hf_config(std::as_bytes(std::span(data, size)));
  return 0;
}
