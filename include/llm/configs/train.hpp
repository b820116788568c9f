// Small models for training on a text, one for each size of vocabulary, since a character vocabulary depends on the text.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// The modern dense model: QK-norm before interleaved RoPE, grouped-query attention, SwiGLU, a head of its own.
template <std::int64_t Vocabulary>
inline constexpr Config modern_small{.vocab_size = Vocabulary,
                                     .d_model = 128,
                                     .n_layers = 4,
                                     .n_heads = 4,
                                     .n_kv_heads = 2,
                                     .head_dim = 32,
                                     .ffn_dim = 352,
                                     .max_seq_len = 64,
                                     .rope_theta = 10000.0,
                                     .norm_eps = 1e-6,
                                     .norm_rounding = Rounding::gain_then_round,
                                     .position = Position::rope_interleaved,
                                     .qk_norm = true};
static_assert(parameter_count(modern_small<128>).block == 184'640);
static_assert(parameter_count(modern_small<128>).total == 771'456);

/// The same sizes as Llama builds them: half-split RoPE, no QK-norm, tied embeddings.
template <std::int64_t Vocabulary>
inline constexpr Config llama_small{.vocab_size = Vocabulary,
                                    .d_model = 128,
                                    .n_layers = 4,
                                    .n_heads = 4,
                                    .n_kv_heads = 2,
                                    .head_dim = 32,
                                    .ffn_dim = 352,
                                    .max_seq_len = 64,
                                    .rope_theta = 10000.0,
                                    .norm_eps = 1e-5,
                                    .tie_embeddings = true};
static_assert(parameter_count(llama_small<128>).block == 184'576);
static_assert(parameter_count(llama_small<128>).total == 754'816);

/// The GPT-2 baseline beside them: LayerNorm, learned positions, multi-head attention, GELU of width 4 D, biases, tied embeddings.
template <std::int64_t Vocabulary>
inline constexpr Config gpt2_small{.vocab_size = Vocabulary,
                                   .d_model = 128,
                                   .n_layers = 4,
                                   .n_heads = 4,
                                   .n_kv_heads = 4,
                                   .head_dim = 32,
                                   .ffn_dim = 512,
                                   .max_seq_len = 64,
                                   .norm_eps = 1e-5,
                                   .tie_embeddings = true,
                                   .norm = Norm::layer_norm,
                                   .position = Position::learned,
                                   .mlp = Mlp::gelu_tanh,
                                   .qkv_bias = true,
                                   .attention_out_bias = true,
                                   .mlp_bias = true};
static_assert(parameter_count(gpt2_small<128>).block == 198'272);
static_assert(parameter_count(gpt2_small<128>).total == 817'920);

}  // namespace llm::configs
