// The 502M model of the tutorial that this library's main example follows: Llama's structure at a size for one machine.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config seed_502m{.vocab_size = 32000,
                                  .d_model = 1536,
                                  .n_layers = 18,
                                  .n_heads = 12,
                                  .n_kv_heads = 4,
                                  .head_dim = 128,
                                  .ffn_dim = 4096,
                                  .max_seq_len = 2048,
                                  .rope_theta = 10000.0,
                                  .norm_eps = 1e-5,
                                  .tie_embeddings = true};
static_assert(parameter_count(seed_502m).total == 502'193'664);
static_assert(kv_cache_bytes_per_token(seed_502m, DType::bf16) == 36'864);
static_assert(training_state(seed_502m, TrainingPolicy::bf16_mixed).total == 9'039'485'952);

}  // namespace llm::configs
