// libFuzzer's entry for chat templates:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/chat_template_fuzz.cpp
//   ./a.out tests/fuzz/corpus/chat_template
#include <cstddef>
#include <cstdint>
#include <span>

#include <fuzz/chat_template_target.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  llm_test::fuzz_chat_template(std::as_bytes(std::span(data, size)));
  return 0;
}
