// What the fuzzer and the replay of its corpus do with one input: take it for a checkpoint's file, restore a model from it, look at it as
// the files of a model and export it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <llm/io/checkpoint_files.hpp>
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/tensor_check.hpp>
#include <llm/model.hpp>
#include <llm/train/checkpoint.hpp>
#include <support/same_bits.hpp>
#include <support/temporary_folder.hpp>
#include <support/training.hpp>

namespace llm_test {

inline constexpr llm::Config fuzzed_checkpoint{
    .vocab_size = 5, .d_model = 4, .n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .ffn_dim = 3, .max_seq_len = 8, .tie_embeddings = true};

/// Files of whatever config: opened, compared with it and written as GGUF, or refused.
inline void use_as_files(const TemporaryFolder& folder) try {
  const auto files = llm::CheckpointFiles::open(folder.path());
  if (!files.model()) return;
  if (!llm::validate(files.model()->config).empty()) std::abort();
  const bool fits = llm::check_tensors(*files.model(), files.names(), files.tensors()).matches();
  llm::write_gguf(folder / "written.gguf", *files.model(), files.names(), files.tensors());
  if (!fits) std::abort();
  const auto again = llm::CheckpointFiles::open(folder / "written.gguf");
  if (!llm::check_tensors(*again.model(), again.names(), again.tensors()).matches()) std::abort();
} catch (const llm::Error&) {
}

/// Ends the program when a refused checkpoint changed a model, or an accepted one is not what it is restored as. True when it was accepted.
inline bool fuzz_checkpoint(std::span<const std::byte> input) {
  using Model = llm::LLM<fuzzed_checkpoint>;
  static const TemporaryFolder folder;
  write_file(folder / "checkpoint.safetensors", std::string(reinterpret_cast<const char*>(input.data()), input.size()));
  use_as_files(folder);
  auto model = Model::random(1);
  llm::AdamW optimizer(model);
  const auto weights = all_weights(model);
  const auto moments = all_moments(optimizer);
  bool described = false;
  try {
    llm::read_checkpoint_info(folder.path());
    described = true;
    const llm::CheckpointInfo info = llm::load_checkpoint(folder.path(), model, optimizer);
    if (info.config != fuzzed_checkpoint || info.optimizer_steps != optimizer.steps()) std::abort();
  } catch (const llm::Error&) {
    if (!same_bits(all_weights(model), weights) || !same_bits(all_moments(optimizer), moments) || optimizer.steps() != 0) std::abort();
    auto other = Model::random(1);
    try {
      llm::load_weights(folder.path(), other);
      if (!described) std::abort();
    } catch (const llm::Error&) {
      if (!same_bits(all_weights(other), weights)) std::abort();
    }
    return false;
  }
  try {
    llm::save_checkpoint(folder.path(), model, optimizer, {});
  } catch (const llm::NumericError&) {  // what was read is not finite
    return true;
  }
  auto again = Model::random(2);
  llm::AdamW other(again);
  llm::load_checkpoint(folder.path(), again, other);
  if (!same_bits(all_weights(again), all_weights(model)) || !same_bits(all_moments(other), all_moments(optimizer))) std::abort();
  return true;
}

}  // namespace llm_test
