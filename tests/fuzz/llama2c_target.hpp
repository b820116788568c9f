// What the fuzzer and the replay of its corpus do with one input: read it as a file of llama2.c.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>

#include <llm/io/llama2c.hpp>

namespace llm_test {

/// Ends the program when an accepted file's tensors are not its bytes in their order. True when it was accepted.
inline bool fuzz_llama2c(std::span<const std::byte> input) {
  try {
    const llm::Llama2cIndex index = llm::parse_llama2c(input, "input");
    const std::byte* last = input.data();
    for (const auto& tensor : index.tensors) {
      std::size_t size = 4;
      for (const std::int64_t extent : tensor.shape) size *= static_cast<std::size_t>(extent);
      if (tensor.bytes.size() != size || tensor.bytes.data() < last) std::abort();
      last = tensor.bytes.data() + size;
    }
    if (last > input.data() + input.size()) std::abort();
    return true;
  } catch (const llm::FileError&) {
    return false;
  } catch (const llm::ConfigError&) {
    return false;
  }
}

}  // namespace llm_test
