// What each family of published models means by a field that its config.json leaves out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <llm/io/published_config.hpp>

namespace llm::detail::hf {

/// Which layers have the sliding window.
enum class Windows : std::uint8_t {
  none,       // the family has no window
  all,        // every layer, when sliding_window is given
  all_asked,  // every layer, when use_sliding_window is true
  last,       // when use_sliding_window is true, layers from max_window_layers on
  pattern     // all but every n-th
};

/// A family's defaults. Source: the configuration classes of transformers 5 (configuration_<family>.py).
struct Traits {
  std::string_view architecture;  // the class of its language models
  bool tied;                      // tie_word_embeddings
  double eps;
  double theta;
  std::int64_t kv_heads;  // num_key_value_heads; 0: as many as query heads
  std::int64_t head_dim;  // 0: hidden_size / num_attention_heads
  Windows windows;
  std::int64_t window;   // sliding_window; 0: none
  bool has_layer_types;  // the family's classes read layer_types
};

/// In the order of Family.
inline constexpr Traits all_traits[] = {
    {"LlamaForCausalLM", false, 1e-6, 10000.0, 0, 0, Windows::none, 0, false},
    {"MistralForCausalLM", false, 1e-6, 10000.0, 8, 0, Windows::all, 4096, false},
    {"MixtralForCausalLM", false, 1e-5, 1000000.0, 8, 0, Windows::all, 0, false},
    {"Qwen2ForCausalLM", false, 1e-6, 10000.0, 32, 0, Windows::last, 4096, true},
    {"Qwen3ForCausalLM", false, 1e-6, 10000.0, 32, 128, Windows::last, 4096, true},
    {"Qwen3MoeForCausalLM", false, 1e-6, 10000.0, 4, 0, Windows::all_asked, 4096, false},
    {"GPT2LMHeadModel", true, 1e-5, 10000.0, 0, 0, Windows::none, 0, false},
    {"GemmaForCausalLM", true, 1e-6, 10000.0, 16, 256, Windows::none, 0, false},
    {"Gemma2ForCausalLM", true, 1e-6, 10000.0, 4, 256, Windows::pattern, 4096, true},
    {"Gemma3ForCausalLM", true, 1e-6, 1000000.0, 4, 256, Windows::pattern, 4096, true},
    {"Phi3ForCausalLM", false, 1e-5, 10000.0, 0, 0, Windows::all, 0, false},
    {"Olmo2ForCausalLM", false, 1e-5, 10000.0, 0, 0, Windows::none, 0, false},
    {"DeepseekV2ForCausalLM", false, 1e-6, 10000.0, 0, 0, Windows::none, 0, false},
    {"DeepseekV3ForCausalLM", false, 1e-6, 10000.0, 128, 0, Windows::none, 0, false},
    {"GPTNeoXForCausalLM", false, 1e-5, 10000.0, 0, 0, Windows::none, 0, false},
    {"Starcoder2ForCausalLM", true, 1e-5, 10000.0, 2, 0, Windows::all, 0, false},
    {"Qwen2MoeForCausalLM", false, 1e-6, 10000.0, 16, 0, Windows::last, 4096, true},
    {"OlmoeForCausalLM", false, 1e-5, 10000.0, 0, 0, Windows::none, 0, false},
};
static_assert(std::size(all_traits) == std::size(family_names));

constexpr const Traits& traits_of(Family family) { return all_traits[static_cast<std::size_t>(family)]; }

}  // namespace llm::detail::hf
