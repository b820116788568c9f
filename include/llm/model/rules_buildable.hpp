// What LLM cannot build yet of the configs that the accountant counts.
#pragma once

#include <llm/model/rule.hpp>

namespace llm::config_rules {

// clang-format off
LLM_CONFIG_RULE(active_groups_unbuilt, active_groups, c.experts.active_groups, most, 64, c.experts.active_groups < c.experts.groups,
                active_groups <= most,
                "llm::LLM: a router chooses from at most 64 groups: experts.active_groups must be at most 64, or experts.groups")
LLM_CONFIG_RULE(mla_unbuilt, kv_rank, c.mla.kv_rank, built, 0, true, kv_rank == built,
                "llm::LLM: multi-head latent attention is counted but not built yet: mla.kv_rank must be 0")
LLM_CONFIG_RULE(attention_softcap_unbuilt, attention_softcap, c.attention_softcap, built, 0, true, attention_softcap == built,
                "llm::LLM: a soft cap of the scores is not built yet: attention_softcap must be 0")
LLM_CONFIG_RULE(logit_softcap_unbuilt, logit_softcap, c.logit_softcap, built, 0, true, logit_softcap == built,
                "llm::LLM: a soft cap of the logits is not built yet: logit_softcap must be 0")
// clang-format on

struct Buildable : List<active_groups_unbuilt, mla_unbuilt, attention_softcap_unbuilt, logit_softcap_unbuilt> {};

}  // namespace llm::config_rules
