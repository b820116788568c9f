// Yi 1.5: Llama's structure with a vocabulary of 64,000. Source: the checkpoints 01-ai/Yi-1.5-*.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A Yi 1.5 of the given size; its heads are 128 wide.
constexpr Config yi1_5(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_kv_heads, std::int64_t ffn_dim) {
  return {.vocab_size = 64000,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = d_model / 128,
          .n_kv_heads = n_kv_heads,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = 4096,
          .rope_theta = 5000000.0,
          .norm_eps = 1e-6};
}

inline constexpr Config yi1_5_6b = yi1_5(4096, 32, 4, 11008);
static_assert(parameter_count(yi1_5_6b).total == 6'061'035'520);

inline constexpr Config yi1_5_9b = yi1_5(4096, 48, 4, 11008);
static_assert(parameter_count(yi1_5_9b).total == 8'829'407'232);

inline constexpr Config yi1_5_34b = yi1_5(7168, 60, 8, 20480);
static_assert(parameter_count(yi1_5_34b).total == 34'388'917'248);

}  // namespace llm::configs
