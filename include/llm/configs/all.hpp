// Every fixed config of the library by name, for programs that take a name.
#pragma once

#include <array>
#include <string_view>

#include <llm/configs/deepseek.hpp>
#include <llm/configs/gemma.hpp>
#include <llm/configs/gpt2.hpp>
#include <llm/configs/llama.hpp>
#include <llm/configs/mistral.hpp>
#include <llm/configs/olmo2.hpp>
#include <llm/configs/olmoe.hpp>
#include <llm/configs/phi3.hpp>
#include <llm/configs/pythia.hpp>
#include <llm/configs/qwen1_5_moe.hpp>
#include <llm/configs/qwen2_5.hpp>
#include <llm/configs/qwen3.hpp>
#include <llm/configs/seed.hpp>
#include <llm/configs/smollm2.hpp>
#include <llm/configs/starcoder2.hpp>
#include <llm/configs/train.hpp>
#include <llm/configs/yi.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

struct NamedConfig {
  std::string_view name;
  const Config* config;
};

/// The configs family by family; the small ones for training, at the end, by their smallest vocabulary.
inline constexpr std::array all{NamedConfig{"seed_502m", &seed_502m},
                                NamedConfig{"gpt2_124m", &gpt2_124m},
                                NamedConfig{"gpt2_medium", &gpt2_medium},
                                NamedConfig{"gpt2_large", &gpt2_large},
                                NamedConfig{"gpt2_xl", &gpt2_xl},
                                NamedConfig{"llama2_7b", &llama2_7b},
                                NamedConfig{"llama2_13b", &llama2_13b},
                                NamedConfig{"llama2_70b", &llama2_70b},
                                NamedConfig{"llama3_8b", &llama3_8b},
                                NamedConfig{"llama3_70b", &llama3_70b},
                                NamedConfig{"llama3_1_8b", &llama3_1_8b},
                                NamedConfig{"llama3_1_70b", &llama3_1_70b},
                                NamedConfig{"llama3_1_405b", &llama3_1_405b},
                                NamedConfig{"llama3_2_1b", &llama3_2_1b},
                                NamedConfig{"llama3_2_3b", &llama3_2_3b},
                                NamedConfig{"tinyllama_1_1b", &tinyllama_1_1b},
                                NamedConfig{"mistral_7b", &mistral_7b},
                                NamedConfig{"mistral_7b_v0_3", &mistral_7b_v0_3},
                                NamedConfig{"mixtral_8x7b", &mixtral_8x7b},
                                NamedConfig{"mixtral_8x22b", &mixtral_8x22b},
                                NamedConfig{"smollm2_135m", &smollm2_135m},
                                NamedConfig{"smollm2_360m", &smollm2_360m},
                                NamedConfig{"smollm2_1_7b", &smollm2_1_7b},
                                NamedConfig{"qwen1_5_moe_a2_7b", &qwen1_5_moe_a2_7b},
                                NamedConfig{"qwen2_5_0_5b", &qwen2_5_0_5b},
                                NamedConfig{"qwen2_5_1_5b", &qwen2_5_1_5b},
                                NamedConfig{"qwen2_5_3b", &qwen2_5_3b},
                                NamedConfig{"qwen2_5_7b", &qwen2_5_7b},
                                NamedConfig{"qwen2_5_14b", &qwen2_5_14b},
                                NamedConfig{"qwen2_5_32b", &qwen2_5_32b},
                                NamedConfig{"qwen2_5_72b", &qwen2_5_72b},
                                NamedConfig{"qwen3_0_6b", &qwen3_0_6b},
                                NamedConfig{"qwen3_1_7b", &qwen3_1_7b},
                                NamedConfig{"qwen3_4b", &qwen3_4b},
                                NamedConfig{"qwen3_8b", &qwen3_8b},
                                NamedConfig{"qwen3_14b", &qwen3_14b},
                                NamedConfig{"qwen3_32b", &qwen3_32b},
                                NamedConfig{"qwen3_30b_a3b", &qwen3_30b_a3b},
                                NamedConfig{"qwen3_235b_a22b", &qwen3_235b_a22b},
                                NamedConfig{"gemma_2b", &gemma_2b},
                                NamedConfig{"gemma_7b", &gemma_7b},
                                NamedConfig{"gemma2_2b", &gemma2_2b},
                                NamedConfig{"gemma2_9b", &gemma2_9b},
                                NamedConfig{"gemma2_27b", &gemma2_27b},
                                NamedConfig{"gemma3_1b", &gemma3_1b},
                                NamedConfig{"phi3_mini_4k", &phi3_mini_4k},
                                NamedConfig{"phi3_medium_4k", &phi3_medium_4k},
                                NamedConfig{"phi4", &phi4},
                                NamedConfig{"olmo2_7b", &olmo2_7b},
                                NamedConfig{"olmo2_13b", &olmo2_13b},
                                NamedConfig{"olmoe_1b_7b", &olmoe_1b_7b},
                                NamedConfig{"deepseek_llm_7b", &deepseek_llm_7b},
                                NamedConfig{"deepseek_v2_lite", &deepseek_v2_lite},
                                NamedConfig{"deepseek_v2", &deepseek_v2},
                                NamedConfig{"deepseek_v3", &deepseek_v3},
                                NamedConfig{"pythia_70m", &pythia_70m},
                                NamedConfig{"pythia_160m", &pythia_160m},
                                NamedConfig{"pythia_410m", &pythia_410m},
                                NamedConfig{"pythia_1b", &pythia_1b},
                                NamedConfig{"pythia_1_4b", &pythia_1_4b},
                                NamedConfig{"pythia_2_8b", &pythia_2_8b},
                                NamedConfig{"pythia_6_9b", &pythia_6_9b},
                                NamedConfig{"pythia_12b", &pythia_12b},
                                NamedConfig{"starcoder2_3b", &starcoder2_3b},
                                NamedConfig{"starcoder2_7b", &starcoder2_7b},
                                NamedConfig{"yi1_5_6b", &yi1_5_6b},
                                NamedConfig{"yi1_5_9b", &yi1_5_9b},
                                NamedConfig{"yi1_5_34b", &yi1_5_34b},
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
