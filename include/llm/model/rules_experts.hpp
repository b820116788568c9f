// Rules about mixtures of experts.
#pragma once

#include <llm/model/account_parameters.hpp>
#include <llm/model/rule.hpp>

namespace llm::config_rules {

/// The experts in the groups that a router chooses from; all where other rules are broken.
constexpr std::int64_t experts_in_active_groups(const Config& c) {
  const auto& e = c.experts;
  const bool valid = e.count > 0 && e.groups >= 1 && e.count % e.groups == 0 && e.active_groups >= 1 && e.active_groups <= e.groups;
  return valid ? e.active_groups * (e.count / e.groups) : e.count;
}

// clang-format off
LLM_CONFIG_RULE(experts_count_not_negative, count, c.experts.count, minimum, 0, true, count >= minimum,
                "llm::Config: experts.count must not be negative (0 means a dense MLP)")
LLM_CONFIG_RULE(experts_need_count, active, c.experts.active, count, c.experts.count, active != 0, count != 0,
                "llm::Config: experts.active is given, but experts.count is 0")
LLM_CONFIG_RULE(experts_active_positive, active, c.experts.active, minimum, 1, c.experts.count > 0, active >= minimum,
                "llm::Config: experts.active, the experts that a token passes, must be at least 1")
LLM_CONFIG_RULE(experts_active_at_most_count, active, c.experts.active, count, c.experts.count, count > 0, active <= count,
                "llm::Config: experts.active is larger than experts.count: are they swapped?")
LLM_CONFIG_RULE(experts_ffn_dim_not_negative, ffn_dim, c.experts.ffn_dim, minimum, 0, true, ffn_dim >= minimum,
                "llm::Config: experts.ffn_dim must not be negative (0 means Config::ffn_dim)")
LLM_CONFIG_RULE(experts_shared_not_negative, shared_ffn_dim, c.experts.shared_ffn_dim, minimum, 0, true, shared_ffn_dim >= minimum,
                "llm::Config: experts.shared_ffn_dim must not be negative (0 means no shared experts)")
LLM_CONFIG_RULE(experts_gate_needs_shared, shared_gate, std::int64_t{c.experts.shared_gate}, shared_ffn_dim, c.experts.shared_ffn_dim,
                shared_gate == 1, shared_ffn_dim != 0,
                "llm::Config: experts.shared_gate weighs shared experts, but experts.shared_ffn_dim is 0")
LLM_CONFIG_RULE(experts_first_dense_not_negative, first_dense, c.experts.first_dense, minimum, 0, true, first_dense >= minimum,
                "llm::Config: experts.first_dense must not be negative")
LLM_CONFIG_RULE(experts_every_positive, every, c.experts.every, minimum, 1, true, every >= minimum,
                "llm::Config: experts.every must be at least 1 (1 means every layer)")
LLM_CONFIG_RULE(experts_in_some_layer, last_layer, c.n_layers, first_with_experts,
                (detail::Count(c.experts.first_dense) + c.experts.every).value,
                c.experts.count > 0 && c.experts.first_dense >= 0 && c.experts.every >= 1 && c.n_layers >= 1,
                first_with_experts <= last_layer,
                "llm::Config: experts are given, but first_dense and every leave no layer with experts")
LLM_CONFIG_RULE(experts_are_gated, count, c.experts.count, gated, std::int64_t{c.gated()}, count > 0, gated == 1,
                "llm::Config: experts are gated MLPs: mlp must be swiglu or geglu_tanh")
LLM_CONFIG_RULE(experts_without_bias, count, c.experts.count, mlp_bias, std::int64_t{c.mlp_bias}, count > 0, mlp_bias == 0,
                "llm::Config: experts have no biases: mlp_bias must be false")
LLM_CONFIG_RULE(experts_scale_positive, scale, c.experts.scale, limit, 0, c.experts.count > 0, scale > limit && scale != INT64_MAX,
                "llm::Config: experts.scale must be greater than 0 and finite")
LLM_CONFIG_RULE(experts_groups_divide, count, c.experts.count, groups, c.experts.groups, count > 0, groups >= 1 && count % groups == 0,
                "llm::Config: experts.groups must be at least 1 and divide experts.count")
LLM_CONFIG_RULE(experts_active_groups_valid, active_groups, c.experts.active_groups, groups, c.experts.groups,
                c.experts.count > 0 && groups >= 1, active_groups >= 1 && active_groups <= groups,
                "llm::Config: experts.active_groups must be at least 1 and at most experts.groups")
LLM_CONFIG_RULE(experts_active_fit_groups, active, c.experts.active, open, experts_in_active_groups(c), active <= c.experts.count,
                active <= open, "llm::Config: experts.active is more than the experts in experts.active_groups groups")
LLM_CONFIG_RULE(experts_losses_need_count, coefficients_given, std::int64_t{c.experts.router_aux_loss_coef != 0.0 ||
                c.experts.router_z_loss_coef != 0.0}, count, c.experts.count, coefficients_given == 1, count != 0,
                "llm::Config: coefficients of router losses are given, but experts.count is 0")
LLM_CONFIG_RULE(experts_aux_loss_not_negative, router_aux_loss_coef, c.experts.router_aux_loss_coef, minimum, 0, true,
                router_aux_loss_coef >= minimum && router_aux_loss_coef != INT64_MAX,
                "llm::Config: experts.router_aux_loss_coef must not be negative, and finite")
LLM_CONFIG_RULE(experts_z_loss_not_negative, router_z_loss_coef, c.experts.router_z_loss_coef, minimum, 0, true,
                router_z_loss_coef >= minimum && router_z_loss_coef != INT64_MAX,
                "llm::Config: experts.router_z_loss_coef must not be negative, and finite")
// clang-format on

struct MixtureOfExperts
    : List<experts_count_not_negative, experts_need_count, experts_active_positive, experts_active_at_most_count,
           experts_ffn_dim_not_negative, experts_shared_not_negative, experts_gate_needs_shared, experts_first_dense_not_negative,
           experts_every_positive, experts_in_some_layer, experts_are_gated, experts_without_bias, experts_scale_positive,
           experts_groups_divide, experts_active_groups_valid, experts_active_fit_groups, experts_losses_need_count,
           experts_aux_loss_not_negative, experts_z_loss_not_negative> {};

}  // namespace llm::config_rules
