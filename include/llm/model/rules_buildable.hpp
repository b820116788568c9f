// What LLM cannot build yet of the configs that the accountant counts.
#pragma once

#include <llm/model/rule.hpp>

namespace llm::config_rules {

// clang-format off
LLM_CONFIG_RULE(experts_unbuilt, count, c.experts.count, built, 0, true, count == built,
                "llm::LLM: a mixture of experts is counted but not built yet: experts.count must be 0")
LLM_CONFIG_RULE(mla_unbuilt, kv_rank, c.mla.kv_rank, built, 0, true, kv_rank == built,
                "llm::LLM: multi-head latent attention is counted but not built yet: mla.kv_rank must be 0")
LLM_CONFIG_RULE(norm_position_unbuilt, norm_position, static_cast<std::int64_t>(c.norm_position), last_built, 1, true,
                norm_position <= last_built,
                "llm::LLM: norm_position branch and sandwich are counted but not built yet: it must be pre or post")
LLM_CONFIG_RULE(geglu_unbuilt, geglu, std::int64_t{c.mlp == Mlp::geglu_tanh}, built, 0, true, geglu == built,
                "llm::LLM: the gated GELU is counted but not built yet: mlp must be swiglu, gelu_tanh or gelu_erf")
LLM_CONFIG_RULE(qk_norm_joint_unbuilt, qk_norm_joint, std::int64_t{c.qk_norm_joint}, built, 0, true, qk_norm_joint == built,
                "llm::LLM: QK-norm over all heads is counted but not built yet: qk_norm_joint must be false")
LLM_CONFIG_RULE(parallel_residual_unbuilt, parallel_residual, std::int64_t{c.parallel_residual}, built, 0, true, parallel_residual == built,
                "llm::LLM: the parallel residual is counted but not built yet: parallel_residual must be false")
LLM_CONFIG_RULE(full_attention_every_unbuilt, full_attention_every, c.full_attention_every, built, 0, true, full_attention_every == built,
                "llm::LLM: layers of two kinds are not built yet: full_attention_every must be 0")
LLM_CONFIG_RULE(rope_theta_window_unbuilt, rope_theta_window, c.rope_theta_window, built, 0, true, rope_theta_window == built,
                "llm::LLM: layers of two kinds are not built yet: rope_theta_window must be 0")
LLM_CONFIG_RULE(norm_gain_offset_unbuilt, norm_gain_offset, std::int64_t{c.norm_gain_offset}, built, 0, true, norm_gain_offset == built,
                "llm::LLM: gains stored as 1 + w are not built yet: norm_gain_offset must be false")
LLM_CONFIG_RULE(scale_embeddings_unbuilt, scale_embeddings, std::int64_t{c.scale_embeddings}, built, 0, true, scale_embeddings == built,
                "llm::LLM: scaled embeddings are not built yet: scale_embeddings must be false")
LLM_CONFIG_RULE(attention_scale_unbuilt, attention_scale, c.attention_scale, built, 0, true, attention_scale == built,
                "llm::LLM: a scale of the scores is not built yet: attention_scale must be 0")
LLM_CONFIG_RULE(attention_softcap_unbuilt, attention_softcap, c.attention_softcap, built, 0, true, attention_softcap == built,
                "llm::LLM: a soft cap of the scores is not built yet: attention_softcap must be 0")
LLM_CONFIG_RULE(logit_softcap_unbuilt, logit_softcap, c.logit_softcap, built, 0, true, logit_softcap == built,
                "llm::LLM: a soft cap of the logits is not built yet: logit_softcap must be 0")
// clang-format on

struct Buildable : List<experts_unbuilt, mla_unbuilt, norm_position_unbuilt, geglu_unbuilt, qk_norm_joint_unbuilt,
                        parallel_residual_unbuilt, full_attention_every_unbuilt, rope_theta_window_unbuilt, norm_gain_offset_unbuilt,
                        scale_embeddings_unbuilt, attention_scale_unbuilt, attention_softcap_unbuilt, logit_softcap_unbuilt> {};

}  // namespace llm::config_rules
