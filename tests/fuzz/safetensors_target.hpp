// What the fuzzer and the replay of its corpus do with one input: read it as a safetensors file, use it, write it again.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <llm/io/safetensors.hpp>

namespace llm_test {

/// Ends the program when the reader accepts a file that does not survive being written again. True when it was accepted.
inline bool fuzz_safetensors(std::span<const std::byte> input) {
  namespace st = llm::detail::safetensors;
  llm::SafetensorsIndex index;
  try {
    index = llm::parse_safetensors(input, "input");
  } catch (const llm::FileError&) {
    return false;
  }
  std::vector<llm::TensorToWrite> tensors;
  for (const auto& entry : index.tensors) {
    const bool integers = entry.dtype == llm::DType::i64 || entry.dtype == llm::DType::i32 || entry.dtype == llm::DType::u8;
    const std::size_t count = integers ? llm::copy_values<std::int64_t>(entry).size() : llm::copy_values<double>(entry).size();
    if (count * static_cast<std::size_t>(llm::block_format(entry.dtype).bytes) != entry.bytes.size()) std::abort();
    tensors.push_back({entry.name, entry.dtype, entry.shape, entry.bytes});
  }
  const auto order = st::data_order(tensors);
  std::vector<llm::SafetensorsTensor> heads;
  for (const auto* tensor : order) heads.push_back({tensor->name, tensor->dtype, tensor->shape});
  st::check_unique_names(heads);
  std::string written = st::header(heads, index.metadata);
  for (const auto* tensor : order) written.append(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
  const auto again = llm::parse_safetensors(std::as_bytes(std::span(written)), "written");
  if (again.tensors.size() != tensors.size() || again.metadata != index.metadata) std::abort();
  for (std::size_t i = 0; i < order.size(); ++i)
    if (again.tensors[i].bytes.size() != order[i]->bytes.size()) std::abort();
  return true;
}

}  // namespace llm_test
