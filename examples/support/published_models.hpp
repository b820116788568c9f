// The published models that programs are compiled for, found by the config of a model's files.
#pragma once

#include <string>
#include <string_view>

#include <llm/configs/llama.hpp>
#include <llm/configs/qwen2_5.hpp>
#include <llm/configs/qwen3.hpp>
#include <llm/configs/smollm2.hpp>
#include <llm/core/error.hpp>
#include <llm/model/config.hpp>
#include <llm/model/config_fields.hpp>

// A program that llm_add_model() compiles against a checkpoint knows that model alone: its config's name, and the header with it.
#if defined(LLM_EXAMPLE_MODEL)
#include LLM_EXAMPLE_MODEL_HEADER
#endif

namespace examples {

namespace detail {

/// Whether llm::load<C> takes files of this config: it translates the convention of RoPE and gains with or without their 1.
inline bool loads(const llm::Config& mine, llm::Config file) {
  if (file.rotary() && mine.rotary()) file.position = mine.position;
  file.norm_gain_offset = mine.norm_gain_offset;
  if (file.max_seq_len > mine.max_seq_len) file.max_seq_len = mine.max_seq_len;
  return llm::config_differences(mine, "", file, "").empty();
}

template <const llm::Config& C, class F>
bool call_if_loads(const llm::Config& file, std::string_view name, F& f) {
  if (!loads(C, file)) return false;
  f.template operator()<C>(name);
  return true;
}

}  // namespace detail

/// Calls f.template operator()<C>(name) for the compiled-in config whose weights files of this config hold. Throws ConfigError, saying
/// how to add it, when there is none.
template <class F>
void with_published_model(const llm::Config& file, const std::string& path, F&& f) {
#if defined(LLM_EXAMPLE_MODEL)
  if (detail::call_if_loads<LLM_EXAMPLE_MODEL>(file, "the program's own", f)) return;
#else
  namespace configs = llm::configs;
  if (detail::call_if_loads<configs::smollm2_135m>(file, "smollm2_135m", f) ||
      detail::call_if_loads<configs::smollm2_360m>(file, "smollm2_360m", f) ||
      detail::call_if_loads<configs::qwen2_5_0_5b>(file, "qwen2_5_0_5b", f) ||
      detail::call_if_loads<configs::qwen3_0_6b>(file, "qwen3_0_6b", f) ||
      detail::call_if_loads<configs::llama3_2_1b>(file, "llama3_2_1b", f))
    return;
#endif
  throw llm::ConfigError(path +
                         ": this program is not compiled for this model (hint: add its config to examples/support/published_models.hpp; " +
                         "inspect " + path + " --emit-config NAME prints it)");
}

}  // namespace examples
