// DeepSeek LLM, V2 and V3: the first of Llama's structure, the others with latent attention, many small experts and shared ones.
// Source: the checkpoints deepseek-ai/deepseek-llm-7b-base, deepseek-ai/DeepSeek-V2-Lite, deepseek-ai/DeepSeek-V2 and
// deepseek-ai/DeepSeek-V3; without the module that predicts a second token, which is no part of the model.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

inline constexpr Config deepseek_llm_7b{.vocab_size = 102400,
                                        .d_model = 4096,
                                        .n_layers = 30,
                                        .n_heads = 32,
                                        .n_kv_heads = 32,
                                        .head_dim = 128,
                                        .ffn_dim = 11008,
                                        .max_seq_len = 4096,
                                        .rope_theta = 10000.0,
                                        .norm_eps = 1e-6};
static_assert(parameter_count(deepseek_llm_7b).total == 6'910'365'696);

/// A model with latent attention of the given size; the experts and the latent of the queries differ. `mscale` scales cos, sin and scores.
constexpr Config deepseek_latent(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim,
                                 std::int64_t q_rank, double mscale, const Experts& experts) {
  return {.vocab_size = 102400,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .ffn_dim = ffn_dim,
          .max_seq_len = 163840,
          .rope_theta = 10000.0,
          .norm_eps = 1e-6,
          .position = Position::rope_interleaved,
          .rope_scaling = {.kind = RopeScalingKind::yarn,
                           .factor = 40.0,
                           .original_max_seq_len = 4096,
                           .beta_fast = 32.0,
                           .beta_slow = 1.0,
                           .mscale = mscale,
                           .mscale_all_dim = mscale},
          .experts = experts,
          .mla = {.kv_rank = 512, .q_rank = q_rank, .nope_dim = 128, .rope_dim = 64, .v_dim = 128}};
}

inline constexpr Config deepseek_v2_lite =
    deepseek_latent(2048, 27, 16, 10944, 0, 0.707,
                    {.count = 64, .active = 6, .ffn_dim = 1408, .shared_ffn_dim = 2 * 1408, .first_dense = 1, .normalise = false});
static_assert(parameter_count(deepseek_v2_lite).total == 15'706'484'224);
static_assert(parameter_count(deepseek_v2_lite).active == 2'661'150'208);

inline constexpr Config deepseek_v2 = deepseek_latent(5120, 60, 128, 12288, 1536, 0.707,
                                                      {.count = 160,
                                                       .active = 6,
                                                       .ffn_dim = 1536,
                                                       .shared_ffn_dim = 2 * 1536,
                                                       .first_dense = 1,
                                                       .normalise = false,
                                                       .scale = 16.0,
                                                       .groups = 8,
                                                       .active_groups = 3});
static_assert(parameter_count(deepseek_v2).total == 235'741'434'880);
static_assert(parameter_count(deepseek_v2).active == 21'375'800'320);

inline constexpr Config deepseek_v3 = [] {
  Config config = deepseek_latent(7168, 61, 128, 18432, 1536, 1.0,
                                  {.count = 256,
                                   .active = 8,
                                   .ffn_dim = 2048,
                                   .shared_ffn_dim = 2048,
                                   .first_dense = 3,
                                   .score = RouterScore::sigmoid,
                                   .score_bias = true,
                                   .scale = 2.5,
                                   .groups = 8,
                                   .active_groups = 4});
  config.vocab_size = 129280;
  return config;
}();
static_assert(parameter_count(deepseek_v3).total == 671'026'419'200);
static_assert(parameter_count(deepseek_v3).active == 37'552'297'472);

}  // namespace llm::configs
