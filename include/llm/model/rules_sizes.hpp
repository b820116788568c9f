// Rules about the sizes of a model: vocabulary, widths, layers and heads, and what they multiply to.
#pragma once

#include <llm/model/account_bytes.hpp>
#include <llm/model/rule.hpp>

namespace llm::config_rules {

// clang-format off
LLM_CONFIG_RULE(vocab_size_positive, vocab_size, c.vocab_size, minimum, 1, true, vocab_size >= minimum,
                "llm::Config: vocab_size must be at least 1")
LLM_CONFIG_RULE(vocab_size_fits_token_ids, vocab_size, c.vocab_size, maximum, 2147483647, true, vocab_size <= maximum,
                "llm::Config: vocab_size exceeds the range of 32-bit token ids")
LLM_CONFIG_RULE(d_model_positive, d_model, c.d_model, minimum, 1, true, d_model >= minimum,
                "llm::Config: d_model must be at least 1")
LLM_CONFIG_RULE(n_layers_positive, n_layers, c.n_layers, minimum, 1, true, n_layers >= minimum,
                "llm::Config: n_layers must be at least 1")
LLM_CONFIG_RULE(n_heads_positive, n_heads, c.n_heads, minimum, 1, true, n_heads >= minimum,
                "llm::Config: n_heads must be at least 1")
LLM_CONFIG_RULE(n_kv_heads_not_negative, n_kv_heads, c.n_kv_heads, minimum, 0, true, n_kv_heads >= minimum,
                "llm::Config: n_kv_heads must not be negative (0 means as many as n_heads)")
LLM_CONFIG_RULE(head_dim_not_negative, head_dim, c.head_dim, minimum, 0, true, head_dim >= minimum,
                "llm::Config: head_dim must not be negative (0 means d_model / n_heads)")
LLM_CONFIG_RULE(ffn_dim_positive, ffn_dim, c.ffn_dim, minimum, 1, true, ffn_dim >= minimum,
                "llm::Config: ffn_dim must be at least 1")
LLM_CONFIG_RULE(max_seq_len_positive, max_seq_len, c.max_seq_len, minimum, 1, true, max_seq_len >= minimum,
                "llm::Config: max_seq_len must be at least 1")
LLM_CONFIG_RULE(norm_eps_positive, norm_eps, c.norm_eps, limit, 0, true, norm_eps > limit && norm_eps != INT64_MAX,
                "llm::Config: norm_eps must be greater than 0 and finite")
LLM_CONFIG_RULE(kv_heads_at_most_heads, n_heads, c.n_heads, n_kv_heads, c.n_kv_heads, n_heads >= 1, n_kv_heads <= n_heads,
                "llm::Config: n_kv_heads is larger than n_heads: are they swapped? (several query heads share one KV head)")
LLM_CONFIG_RULE(heads_divisible, n_heads, c.n_heads, n_kv_heads, c.n_kv_heads, n_kv_heads >= 1 && n_kv_heads <= n_heads,
                n_heads % n_kv_heads == 0,
                "llm::Config: n_heads must be a multiple of n_kv_heads (each KV head serves a group of query heads)")
LLM_CONFIG_RULE(d_model_divisible, d_model, c.d_model, n_heads, c.n_heads, c.head_dim == 0 && !c.latent_attention() && d_model >= 1 && n_heads >= 1,
                d_model % n_heads == 0,
                "llm::Config: head_dim is 0, which means d_model / n_heads, but d_model is not a multiple of n_heads")
LLM_CONFIG_RULE(parameters_countable, parameters, detail::total_parameters(c).value, maximum, INT64_MAX / 18, true, parameters <= maximum,
                "llm::Config: the sizes are too large: 18 bytes of training state for each parameter exceed 2^63 bytes")
LLM_CONFIG_RULE(kv_cache_countable, elements, (detail::kv_elements_per_token(c) * c.max_seq_len).value, maximum, INT64_MAX / 8,
                detail::total_parameters(c).value <= INT64_MAX / 18, elements <= maximum,
                "llm::Config: the sizes are too large: the KV cache of max_seq_len tokens exceeds 2^63 bytes")
// clang-format on

struct Sizes : List<vocab_size_positive, vocab_size_fits_token_ids, d_model_positive, n_layers_positive, n_heads_positive,
                    n_kv_heads_not_negative, head_dim_not_negative, ffn_dim_positive, max_seq_len_positive, norm_eps_positive,
                    kv_heads_at_most_heads, heads_divisible, d_model_divisible, parameters_countable, kv_cache_countable> {};

}  // namespace llm::config_rules
