// The names of the metadata keys that say what a model is, for reading and for writing: "<architecture>.<name>".
// Source: the Python package gguf (constants.py).
#pragma once

#include <string_view>

namespace llm::detail::gguf::key {

inline constexpr std::string_view vocab_size = "vocab_size";
inline constexpr std::string_view context_length = "context_length";
inline constexpr std::string_view embedding_length = "embedding_length";
inline constexpr std::string_view block_count = "block_count";
inline constexpr std::string_view feed_forward_length = "feed_forward_length";

inline constexpr std::string_view head_count = "attention.head_count";
inline constexpr std::string_view head_count_kv = "attention.head_count_kv";
inline constexpr std::string_view key_length = "attention.key_length";
inline constexpr std::string_view value_length = "attention.value_length";
inline constexpr std::string_view layer_norm_epsilon = "attention.layer_norm_epsilon";
inline constexpr std::string_view layer_norm_rms_epsilon = "attention.layer_norm_rms_epsilon";

inline constexpr std::string_view rope_freq_base = "rope.freq_base";
inline constexpr std::string_view rope_dimension_count = "rope.dimension_count";
inline constexpr std::string_view rope_scaling_type = "rope.scaling.type";
inline constexpr std::string_view rope_scaling_factor = "rope.scaling.factor";
inline constexpr std::string_view rope_scaling_original_context_length = "rope.scaling.original_context_length";
inline constexpr std::string_view rope_scaling_yarn_beta_fast = "rope.scaling.yarn_beta_fast";
inline constexpr std::string_view rope_scaling_yarn_beta_slow = "rope.scaling.yarn_beta_slow";

inline constexpr std::string_view expert_count = "expert_count";
inline constexpr std::string_view expert_used_count = "expert_used_count";
inline constexpr std::string_view expert_feed_forward_length = "expert_feed_forward_length";
inline constexpr std::string_view expert_weights_norm = "expert_weights_norm";
inline constexpr std::string_view expert_weights_scale = "expert_weights_scale";
inline constexpr std::string_view expert_gating_func = "expert_gating_func";

/// The tensor of divisors of RoPE's frequencies, which stands for llama3 scaling.
inline constexpr std::string_view rope_freqs_tensor = "rope_freqs.weight";

}  // namespace llm::detail::gguf::key
