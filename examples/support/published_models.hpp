// The published models that programs are compiled for, found by the config of a model's files, and what to do for others.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

// A program that llm_add_model() compiles against a checkpoint knows that model alone: its config's name, and the header with it.
#if defined(LLM_EXAMPLE_MODEL)
#include LLM_EXAMPLE_MODEL_HEADER
#else
#include <llm/configs/gpt2.hpp>
#include <llm/configs/llama.hpp>
#include <llm/configs/qwen3.hpp>
#include <llm/configs/smollm2.hpp>
#endif
#include <llm/core/error.hpp>
#include <llm/io/load.hpp>
#include <llm/io/tensor_check.hpp>
#include <llm/model/rules.hpp>

#include "open_model.hpp"

namespace examples {

namespace detail {

template <const llm::Config& C, class F>
bool call_if_loads(const llm::CheckpointFiles& files, std::string_view name, F& f) {
  if (!llm::loads_as(C, files)) return false;
  f.template operator()<C>(name);
  return true;
}

/// Each config costs some seconds to compile, so there are few.
template <class F>
bool any_published_model(const llm::CheckpointFiles& files, F& f) {
#if defined(LLM_EXAMPLE_MODEL)
  return call_if_loads<LLM_EXAMPLE_MODEL>(files, "the program's own", f);
#else
  namespace configs = llm::configs;
  return call_if_loads<configs::smollm2_135m>(files, "smollm2_135m", f) || call_if_loads<configs::gpt2_124m>(files, "gpt2_124m", f) ||
         call_if_loads<configs::qwen3_0_6b>(files, "qwen3_0_6b", f) || call_if_loads<configs::llama3_2_1b>(files, "llama3_2_1b", f);
#endif
}

/// A word for the shell.
inline std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Before somebody builds a program for a model: its tensors are there. Throws FileError.
inline void require_tensors(const llm::CheckpointFiles& files, const std::string& path) {
  if (!files.has_weights() && path.ends_with(".json")) throw llm::FileError(path + ": is a config alone (hint: give the folder)");
  if (!files.has_weights())
    throw llm::FileError(path + ": holds no weights: there is neither model.safetensors nor model.safetensors.index.json (hint: " +
                         "pytorch_model.bin is not read; convert it to safetensors)");
  const auto check = llm::check_tensors(*files.model(), files.names(), files.tensors(), {.compare_copies = false});
  if (!check.matches()) throw llm::FileError(path + ": the tensors are not those of the config: " + check.text());
}

/// Why a program does not run a model: what the library cannot build of it, or else with the command that builds the program for it.
inline std::string how_to_build(const std::string& program, const std::string& model, const llm::Config& config) {
  const std::string text = model + ": " + program + " is not compiled for this model. ";
  if (const auto missing = llm::unbuilt_features(config); !missing.empty()) return text + missing.front();
  const std::string path = quoted(std::filesystem::absolute(model).lexically_normal().string());
  return text + "This makes one_model/" + program + ", which is:\n  cmake -S " +
         quoted(std::string(LLM_SOURCE_DIR) + "/examples/one_model") + " -B one_model -DPROGRAM=" + program + " -DMODEL=" + path +
         " && cmake --build one_model";
}

}  // namespace detail

/// Calls f.template operator()<C>(name) for the compiled-in config whose weights the files at `path` hold, after it has said on stderr
/// which family they are of, and which convention of RoPE was found. Nothing is read of the weights before it is clear which model this
/// is. Throws FileError when nothing says that, or when its tensors are not there; ConfigError, with the one command that builds `program`
/// for this model, when there is none.
template <class F>
void with_published_model(const std::string& path, const std::string& program, F&& f) {
  const llm::CheckpointFiles files = open_model(path);
  const llm::PublishedConfig& model = *files.model();
  const auto call = [&]<const llm::Config & C>(std::string_view name) {
    std::fprintf(stderr, "%s, rope: %s\n", std::string(to_string(model.family)).c_str(),
                 std::string(llm::rope_convention(model.config.position)).c_str());
    f.template operator()<C>(name);
  };
  if (detail::any_published_model(files, call)) return;
  if (llm::unbuilt_features(model.config).empty()) detail::require_tensors(files, path);
  throw llm::ConfigError(detail::how_to_build(program, path, model.config));
}

}  // namespace examples
