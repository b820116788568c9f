// What a checkpoint says beside its tensors: config, position in the data, optimizer, tokenizer, versions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <llm/data/random_windows.hpp>
#include <llm/io/json_fields.hpp>
#include <llm/io/safetensors_reader.hpp>
#include <llm/train/adamw.hpp>
#include <llm/version.hpp>

namespace llm {

/// What the program itself wants to find again: its tokenizer and any words of its own (schedule, data file, ...).
struct CheckpointNotes {
  std::string tokenizer;                     // CharTokenizer::characters(), or empty
  std::map<std::string, std::string> words;  // up to 1 MiB in all
};

/// What a checkpoint holds beside its tensors.
struct CheckpointInfo {
  Config config;
  RandomWindows::State data;  // where training goes on
  AdamWOptions optimizer;     // what the optimizer was made with
  std::int64_t optimizer_steps = 0;
  CheckpointNotes notes;
  std::string library_version;
};

namespace detail::checkpoint {

/// Rises when a reader of the version before could not read the file.
inline constexpr std::int64_t format_version = 1;

template <class Options, class F>
void for_each_optimizer_field(Options& options, F&& f) {
  f("beta1", options.beta1);
  f("beta2", options.beta2);
  f("eps", options.eps);
  f("weight_decay", options.weight_decay);
}

/// The file's metadata, as the safetensors format wants it: strings by name.
inline std::map<std::string, std::string> metadata_of(const CheckpointInfo& info) {
  JsonWriter optimizer, data, words;
  optimizer("name", std::string("adamw"));
  optimizer("steps", info.optimizer_steps);
  for_each_optimizer_field(info.optimizer, optimizer);
  data("seed", info.data.seed);
  data("step", info.data.step);
  for (const auto& [name, word] : info.notes.words) words(name, word);
  return {{"checkpoint_version", concat(format_version)},
          {"library_version", info.library_version},
          {"config", config_to_json(info.config)},
          {"optimizer", optimizer.text()},
          {"data", data.text()},
          {"tokenizer", info.notes.tokenizer},
          {"words", words.text()}};
}

/// Reads metadata_of() back. Throws FileError naming the file and the field.
inline CheckpointInfo info_of(const SafetensorsFile& file) {
  const auto field = [&](const char* name) -> const std::string& {
    const auto found = file.metadata().find(name);
    if (found == file.metadata().end())
      throw FileError(concat(file.path(), ": is no checkpoint of this library: its metadata has no '", name, "'"));
    return found->second;
  };
  if (const std::string& version = field("checkpoint_version"); version != concat(format_version))
    throw FileError(concat(file.path(), ": checkpoint_version is ", in_quotes(version), ", this library reads ", format_version));
  const auto reader = [&](const char* name) { return JsonReader(field(name), concat(file.path(), ": ", name)); };
  CheckpointInfo info;
  info.config = config_from_json(field("config"), concat(file.path(), ": config"));
  JsonReader optimizer = reader("optimizer"), data = reader("data");
  std::string name;
  optimizer("name", name);
  if (name != "adamw") throw FileError(concat(file.path(), ": the optimizer is ", in_quotes(name), ", expected 'adamw'"));
  optimizer("steps", info.optimizer_steps);
  for_each_optimizer_field(info.optimizer, optimizer);
  optimizer.finish();
  data("seed", info.data.seed);
  data("step", info.data.step);
  data.finish();
  for (const std::int64_t steps : {info.optimizer_steps, info.data.step})
    if (steps < 0 || steps > std::int64_t{1} << 62) throw FileError(concat(file.path(), ": a step count is negative or beyond 2^62"));
  info.notes = {field("tokenizer"), reader("words").take_strings()};
  info.library_version = field("library_version");
  return info;
}

}  // namespace detail::checkpoint
}  // namespace llm
