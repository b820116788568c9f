// SmolLM2: small models of Llama's structure. Source: the checkpoints HuggingFaceTB/SmolLM2-*.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config smollm2_135m{.vocab_size = 49152,
                                     .d_model = 576,
                                     .n_layers = 30,
                                     .n_heads = 9,
                                     .n_kv_heads = 3,
                                     .head_dim = 64,
                                     .ffn_dim = 1536,
                                     .max_seq_len = 8192,
                                     .rope_theta = 100000.0,
                                     .norm_eps = 1e-5,
                                     .tie_embeddings = true};
static_assert(parameter_count(smollm2_135m).total == 134'515'008);

inline constexpr Config smollm2_360m{.vocab_size = 49152,
                                     .d_model = 960,
                                     .n_layers = 32,
                                     .n_heads = 15,
                                     .n_kv_heads = 5,
                                     .head_dim = 64,
                                     .ffn_dim = 2560,
                                     .max_seq_len = 8192,
                                     .rope_theta = 100000.0,
                                     .norm_eps = 1e-5,
                                     .tie_embeddings = true};
static_assert(parameter_count(smollm2_360m).total == 361'821'120);

inline constexpr Config smollm2_1_7b{.vocab_size = 49152,
                                     .d_model = 2048,
                                     .n_layers = 24,
                                     .n_heads = 32,
                                     .n_kv_heads = 32,
                                     .head_dim = 64,
                                     .ffn_dim = 8192,
                                     .max_seq_len = 8192,
                                     .rope_theta = 130000.0,
                                     .norm_eps = 1e-5,
                                     .tie_embeddings = true};
static_assert(parameter_count(smollm2_1_7b).total == 1'711'376'384);

}  // namespace llm::configs
