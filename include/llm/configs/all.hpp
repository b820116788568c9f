// Every fixed config of the library by name, for programs that take a name.
#pragma once

#include <array>
#include <string_view>

#include <llm/configs/gpt2.hpp>
#include <llm/configs/llama.hpp>
#include <llm/configs/mistral.hpp>
#include <llm/configs/qwen2_5.hpp>
#include <llm/configs/qwen3.hpp>
#include <llm/configs/seed.hpp>
#include <llm/configs/smollm2.hpp>
#include <llm/configs/train.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

struct NamedConfig {
  std::string_view name;
  const Config* config;
};

/// The configs, the small ones for training by their smallest vocabulary.
inline constexpr std::array all{NamedConfig{"seed_502m", &seed_502m},
                                NamedConfig{"gpt2_124m", &gpt2_124m},
                                NamedConfig{"gpt2_xl", &gpt2_xl},
                                NamedConfig{"llama2_7b", &llama2_7b},
                                NamedConfig{"llama2_70b", &llama2_70b},
                                NamedConfig{"llama3_8b", &llama3_8b},
                                NamedConfig{"llama3_70b", &llama3_70b},
                                NamedConfig{"tinyllama_1_1b", &tinyllama_1_1b},
                                NamedConfig{"mistral_7b", &mistral_7b},
                                NamedConfig{"smollm2_135m", &smollm2_135m},
                                NamedConfig{"smollm2_360m", &smollm2_360m},
                                NamedConfig{"smollm2_1_7b", &smollm2_1_7b},
                                NamedConfig{"qwen2_5_0_5b", &qwen2_5_0_5b},
                                NamedConfig{"qwen2_5_7b", &qwen2_5_7b},
                                NamedConfig{"qwen3_0_6b", &qwen3_0_6b},
                                NamedConfig{"qwen3_1_7b", &qwen3_1_7b},
                                NamedConfig{"qwen3_4b", &qwen3_4b},
                                NamedConfig{"qwen3_8b", &qwen3_8b},
                                NamedConfig{"qwen3_32b", &qwen3_32b},
                                NamedConfig{"modern_small", &modern_small<128>},
                                NamedConfig{"llama_small", &llama_small<128>},
                                NamedConfig{"gpt2_small", &gpt2_small<128>}};

/// The config of that name, or nullptr.
constexpr const Config* find(std::string_view name) {
  for (const NamedConfig& entry : all)
    if (entry.name == name) return entry.config;
  return nullptr;
}

}  // namespace llm::configs
