// OLMo 2: norms after each branch, and one QK-norm over the width of all heads. Source: the checkpoints allenai/OLMo-2-1124-*.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// An OLMo 2 of the given size.
constexpr Config olmo2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim) {
  return {.vocab_size = 100352,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_heads,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = 4096,
          .rope_theta = 500000.0,
          .norm_eps = 1e-6,
          .norm_rounding = Rounding::gain_then_round,
          .norm_position = NormPosition::branch,
          .qk_norm = true,
          .qk_norm_joint = true};
}

inline constexpr Config olmo2_7b = olmo2(4096, 32, 32, 11008);
static_assert(parameter_count(olmo2_7b).total == 7'298'617'344);

inline constexpr Config olmo2_13b = olmo2(5120, 40, 40, 13824);
static_assert(parameter_count(olmo2_13b).total == 13'716'198'400);

}  // namespace llm::configs
