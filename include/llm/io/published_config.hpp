// What the readers of published model files give: a Config, and which family of files it comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <llm/model/config.hpp>

namespace llm {

/// A family of published models: it decides the names and shapes of a checkpoint's tensors.
enum class Family : std::uint8_t {
  llama,
  mistral,
  mixtral,
  qwen2,
  qwen3,
  qwen3_moe,
  gpt2,
  gemma,
  gemma2,
  gemma3,
  phi3,
  olmo2,
  deepseek_v2,
  deepseek_v3,
  gpt_neox,
  starcoder2,
  qwen2_moe,
  olmoe
};

namespace detail {
/// As `model_type` of a Hugging Face config.json spells them, in the order of Family.
inline constexpr std::string_view family_names[] = {"llama",       "mistral",     "mixtral",  "qwen2",       "qwen3",     "qwen3_moe",
                                                    "gpt2",        "gemma",       "gemma2",   "gemma3_text", "phi3",      "olmo2",
                                                    "deepseek_v2", "deepseek_v3", "gpt_neox", "starcoder2",  "qwen2_moe", "olmoe"};
}  // namespace detail

constexpr std::string_view to_string(Family family) { return detail::family_names[static_cast<std::size_t>(family)]; }

/// "half-split (Hugging Face)": which dimensions of a head a rotation pairs, and whose files are like that.
constexpr std::string_view rope_convention(Position position) {
  switch (position) {
    case Position::rope_half:
      return "half-split (Hugging Face)";
    case Position::rope_interleaved:
      return "interleaved (GGUF llama, Meta)";
    case Position::learned:
      return "none, positions are learned";
    case Position::none:
      return "none";
  }
  return "?";
}

/// A model as its file describes it.
struct PublishedConfig {
  Config config;
  Family family = Family::llama;
  std::string source;  // the file
};

}  // namespace llm
