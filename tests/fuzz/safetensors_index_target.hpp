// What the fuzzer and the replay of its corpus do with one input: read it as the index of a sharded model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <llm/io/safetensors_index.hpp>

namespace llm_test {

/// Ends the program when the reader accepts an index that leads out of its folder or names something twice. True when it was accepted.
inline bool fuzz_safetensors_index(std::span<const std::byte> input) {
  llm::SafetensorsShards shards;
  try {
    shards = llm::parse_safetensors_index(input, "input");
  } catch (const llm::FileError&) {
    return false;
  }
  if (shards.tensors.empty() || shards.files.empty() || shards.total_size.value_or(0) < 0) std::abort();
  std::vector<std::string> names;
  std::vector<bool> used(shards.files.size());
  for (const auto& [name, file] : shards.tensors) {
    if (name.empty() || file >= shards.files.size()) std::abort();
    used[file] = true;
    names.push_back(name);
  }
  for (const std::string& file : shards.files)
    if (file.find_first_of("/\\:") != std::string::npos || file.front() == '.' || !file.ends_with(".safetensors")) std::abort();
  if (std::find(used.begin(), used.end(), false) != used.end()) std::abort();
  for (std::vector<std::string>* list : {&names, &shards.files}) {
    std::sort(list->begin(), list->end());
    if (std::adjacent_find(list->begin(), list->end()) != list->end()) std::abort();
  }
  return true;
}

}  // namespace llm_test
