// Configs whose headers are written and compiled: every one of the library, and one in which no field has its default.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <llm/configs/all.hpp>
#include <llm/model/config_fields.hpp>

namespace header_cases {

/// Valid, and different from Config's defaults in all that can be said at once.
inline constexpr llm::Config unusual{.vocab_size = 1000,
                                     .d_model = 48,
                                     .n_layers = 3,
                                     .n_heads = 6,
                                     .n_kv_heads = 2,
                                     .head_dim = 10,
                                     .ffn_dim = 100,
                                     .max_seq_len = 4096,
                                     .rope_theta = 12345.678901234567,
                                     .norm_eps = 1.0 / 3e7,
                                     .tie_embeddings = true,
                                     .norm_rounding = llm::Rounding::gain_then_round,
                                     .norm_position = llm::NormPosition::sandwich,
                                     .position = llm::Position::rope_interleaved,
                                     .rope_dim = 6,
                                     .rope_scaling = {.kind = llm::RopeScalingKind::yarn,
                                                      .factor = 0.1 + 0.2 + 3,
                                                      .original_max_seq_len = 1024,
                                                      .beta_fast = 31.0,
                                                      .beta_slow = 1.5,
                                                      .attention_factor = 1.25,
                                                      .truncate = false},
                                     .qk_norm = true,
                                     .qk_norm_joint = true,
                                     .mlp = llm::Mlp::geglu_tanh,
                                     .qkv_bias = true,
                                     .attention_out_bias = true,
                                     .sliding_window = 512,
                                     .full_attention_every = 2,
                                     .rope_theta_window = 1e4,
                                     .norm_gain_offset = true,
                                     .scale_embeddings = true,
                                     .attention_scale = 0.07,
                                     .attention_softcap = 50.0,
                                     .logit_softcap = 30.0,
                                     .experts = {.count = 8,
                                                 .active = 2,
                                                 .ffn_dim = 40,
                                                 .shared_ffn_dim = 80,
                                                 .shared_gate = true,
                                                 .first_dense = 1,
                                                 .every = 2,
                                                 .score = llm::RouterScore::sigmoid,
                                                 .normalise = false,
                                                 .score_bias = true,
                                                 .scale = 2.5,
                                                 .groups = 4,
                                                 .active_groups = 2,
                                                 .router_aux_loss_coef = 0.001,
                                                 .router_z_loss_coef = 1e-4}};

/// The fields that `unusual` cannot have too.
inline constexpr llm::Config unusual_rope = [] {
  llm::Config config = unusual;
  config.norm_position = llm::NormPosition::branch;
  config.rope_scaling = {
      .kind = llm::RopeScalingKind::llama3, .factor = 8.0, .original_max_seq_len = 512, .low_freq_factor = 1.25, .high_freq_factor = 3.75};
  return config;
}();

/// Calls f("name", config) for all of them.
template <class F>
void for_each(F&& f) {
  f(std::string("unusual"), unusual);
  f(std::string("unusual_rope"), unusual_rope);
  for (const auto& entry : llm::configs::all) f(std::string(entry.name), *entry.config);
}

}  // namespace header_cases
