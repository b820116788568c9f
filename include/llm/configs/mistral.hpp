// Mistral and Mixtral: Llama's structure, with a sliding window in the first, with experts in the second. Source: the checkpoints
// mistralai/Mistral-7B-v0.1, mistralai/Mistral-7B-v0.3, mistralai/Mixtral-8x7B-v0.1 and mistralai/Mixtral-8x22B-v0.1.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config mistral_7b{.vocab_size = 32000,
                                   .d_model = 4096,
                                   .n_layers = 32,
                                   .n_heads = 32,
                                   .n_kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_dim = 14336,
                                   .max_seq_len = 32768,
                                   .rope_theta = 10000.0,
                                   .norm_eps = 1e-5,
                                   .sliding_window = 4096};
static_assert(parameter_count(mistral_7b).total == 7'241'732'096);

/// Version 0.3: no window, a larger vocabulary.
inline constexpr Config mistral_7b_v0_3{.vocab_size = 32768,
                                        .d_model = 4096,
                                        .n_layers = 32,
                                        .n_heads = 32,
                                        .n_kv_heads = 8,
                                        .head_dim = 128,
                                        .ffn_dim = 14336,
                                        .max_seq_len = 32768,
                                        .rope_theta = 1000000.0,
                                        .norm_eps = 1e-5};
static_assert(parameter_count(mistral_7b_v0_3).total == 7'248'023'552);

/// A Mixtral of the given size: eight experts in every layer, two of them for a token.
constexpr Config mixtral(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim,
                         std::int64_t max_seq_len) {
  return {.vocab_size = 32000,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = 8,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = max_seq_len,
          .rope_theta = 1000000.0,
          .norm_eps = 1e-5,
          .experts = {.count = 8, .active = 2}};
}

inline constexpr Config mixtral_8x7b = mixtral(4096, 32, 32, 14336, 32768);
static_assert(parameter_count(mixtral_8x7b).total == 46'702'792'704);
static_assert(parameter_count(mixtral_8x7b).active == 12'879'925'248);

inline constexpr Config mixtral_8x22b = mixtral(6144, 56, 48, 16384, 65536);
static_assert(parameter_count(mixtral_8x22b).total == 140'620'634'112);
static_assert(parameter_count(mixtral_8x22b).active == 39'152'031'744);

}  // namespace llm::configs
