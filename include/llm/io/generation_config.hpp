// generation_config.json: how the makers of a model advise to draw its tokens.
// Source: Hugging Face transformers, GenerationConfig.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/paths.hpp>

namespace llm {

/// What the file says; what it leaves out, or says with null, is empty.
struct GenerationConfig {
  std::optional<bool> do_sample = {};  ///< false: always the most probable token
  std::optional<float> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<std::int64_t> top_k = {}, max_new_tokens = {};

  /// Sets these fields of GenerateOptions, and leaves the others as they are. The file's max_new_tokens knows nothing of the prompt: it
  /// gives way to the context.
  template <class Options>
  void apply_to(Options& options) const {
    const auto set = [](auto& field, const auto& value) {
      if (value) field = *value;
    };
    set(options.temperature, temperature);
    if (!do_sample.value_or(true)) options.temperature = 0;
    set(options.top_k, top_k);
    set(options.top_p, top_p);
    set(options.min_p, min_p);
    set(options.repetition_penalty, repetition_penalty);
    set(options.max_new_tokens, max_new_tokens);
    if (max_new_tokens) options.fit_context = true;
  }
};

namespace detail::hf {

/// A number from 0 to `most`.
inline std::optional<float> number_up_to(Fields& fields, std::string_view key, double most, std::string_view expected) {
  if (!fields.has(key)) return {};
  const double value = fields.not_negative(key);
  if (value > most) fields.refuse(key, expected);
  return static_cast<float>(value);
}

inline GenerationConfig generation_config_of(Fields& fields) {
  constexpr double largest = (std::numeric_limits<float>::max)();
  GenerationConfig config;
  if (fields.has("do_sample")) config.do_sample = fields.flag("do_sample", false);
  config.temperature = number_up_to(fields, "temperature", largest, "a number that a float holds");
  config.top_p = number_up_to(fields, "top_p", 1, "a probability from 0 to 1");
  config.min_p = number_up_to(fields, "min_p", 1, "a ratio from 0 to 1");
  config.repetition_penalty = number_up_to(fields, "repetition_penalty", largest, "a number that a float holds");
  if (config.repetition_penalty && !(*config.repetition_penalty > 0)) fields.refuse("repetition_penalty", "a number above 0 (1 is off)");
  if (fields.has("top_k")) config.top_k = fields.count("top_k", 0);
  if (fields.has("max_new_tokens")) config.max_new_tokens = fields.count("max_new_tokens");
  return config;
}

}  // namespace detail::hf

/// The generation_config.json of a Hugging Face folder, or of the folder that a model's file lies in; none when there is none, and
/// for a .gguf file, which stands alone. Throws FileError naming file and field for values that have the wrong type or are out of their
/// range.
inline std::optional<GenerationConfig> read_generation_config(const std::string& model) {
  if (model.ends_with(".gguf")) return {};
  constexpr std::string_view function = "llm::read_generation_config";
  const std::string path = detail::inside(detail::model_folder(model), "generation_config.json");
  const auto json = detail::read_json_object(path, function);
  if (!json) return {};
  detail::hf::Fields fields(*json, detail::concat(function, ": ", path));
  return detail::hf::generation_config_of(fields);
}

}  // namespace llm
