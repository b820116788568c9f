// What the fuzzer and the replay of its corpus do with one input: read it as a GGUF file, walk all of it, write it again, in memory and as
// the program quantize does, read its Config and its tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fuzz/gguf_round_trip.hpp>
#include <fuzz/use_tokenizer.hpp>
#include <llm/io/gguf.hpp>
#include <llm/io/tokenizer_gguf.hpp>
#include <llm/model/rules.hpp>

namespace llm_test {

/// Walks a value and everything in it; returns how many bytes it takes in the file.
inline std::size_t walk(const llm::GgufValue& value) {
  if (const auto text = value.text()) return 8 + std::string(*text).size();
  const auto array = value.array();
  if (!array) {
    const int kinds = (value.is_integer() ? 1 : 0) + (value.floating() ? 1 : 0) + (value.boolean() ? 1 : 0);
    if (kinds != 1) std::abort();
    return llm::detail::gguf::type_bytes(value.type());
  }
  std::size_t bytes = 12;
  std::int64_t count = 0;
  for (const llm::GgufValue element : *array) {
    bytes += walk(element);
    ++count;
  }
  if (count != array->size()) std::abort();
  return bytes;
}

/// Ends the program when the reader accepts a file whose parts do not add up. True when the file, apart from its Config, was accepted.
inline bool fuzz_gguf(std::span<const std::byte> input) try {
  const auto file = llm::GgufFile::view(input, "input");
  std::size_t header = 24;
  for (const llm::GgufPair& pair : file.metadata()) {
    header += 8 + pair.key.size() + 4 + walk(pair.value);
    if (file.find_metadata(pair.key) != &pair.value) std::abort();  // another one when a key occurs twice
  }
  for (const llm::GgufEntry& tensor : file.tensors()) {
    header += 8 + tensor.name.size() + 4 + 8 * tensor.shape.size() + 4 + 8;
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor.shape) count *= extent;
    if (static_cast<std::int64_t>(tensor.bytes.size()) != llm::storage_bytes(tensor.dtype, count)) std::abort();
    if (!tensor.bytes.empty() && tensor.bytes.data() != input.data() + tensor.offset) std::abort();
    if (!tensor.bytes.empty() && tensor.offset + tensor.bytes.size() > input.size()) std::abort();
    if (file.find(tensor.name) != &tensor) std::abort();
  }
  for (const llm::UnsupportedGgufEntry& tensor : file.unsupported()) {
    header += 8 + tensor.name.size() + 4 + 8 * tensor.shape.size() + 4 + 8;
    if (tensor.size > 0 && tensor.offset + tensor.size > input.size()) std::abort();
    if (file.find_shape(tensor.name) != &tensor.shape) std::abort();
  }
  if (header > input.size()) std::abort();
  check_round_trip(file);
  check_quantized(file);
  try {
    const llm::PublishedConfig model = llm::read_gguf_config(file);
    if (!llm::validate(model.config).empty()) std::abort();
    check_config_round_trip(file, model);
  } catch (const llm::FileError&) {
  } catch (const llm::ConfigError&) {
  }
  try {
    use_tokenizer(llm::read_gguf_tokenizer(file));
  } catch (const llm::FileError&) {
  }
  return true;
} catch (const llm::FileError&) {
  return false;
}

}  // namespace llm_test
