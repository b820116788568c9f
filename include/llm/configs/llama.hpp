// Llama 2, 3, 3.1 and 3.2, and TinyLlama. Source: the checkpoints meta-llama/Llama-2-*, meta-llama/Meta-Llama-3-*,
// meta-llama/Llama-3.1-*, meta-llama/Llama-3.2-* and TinyLlama/TinyLlama-1.1B.
#pragma once

#include <cstdint>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

namespace llm::configs {

/// A Llama 2 of the given size; its heads are 128 wide.
constexpr Config llama2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t ffn_dim) {
  return {.vocab_size = 32000,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_kv_heads,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = 4096,
          .rope_theta = 10000.0,
          .norm_eps = 1e-5};
}

/// A Llama 3 of the given size: eight KV heads, 128 wide.
constexpr Config llama3(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t ffn_dim) {
  return {.vocab_size = 128256,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = 8,
          .head_dim = 128,
          .ffn_dim = ffn_dim,
          .max_seq_len = 8192,
          .rope_theta = 500000.0,
          .norm_eps = 1e-5};
}

/// The same with the long context of 3.1 and later: frequencies stretched by `factor`.
constexpr Config with_long_context(Config config, double factor) {
  config.max_seq_len = 131072;
  config.rope_scaling = {
      .kind = RopeScalingKind::llama3, .factor = factor, .original_max_seq_len = 8192, .low_freq_factor = 1.0, .high_freq_factor = 4.0};
  return config;
}

/// A Llama 3.2: small, its head tied.
constexpr Config llama3_2(std::int64_t d_model, std::int64_t n_layers, std::int64_t n_heads, std::int64_t head_dim, std::int64_t ffn_dim) {
  Config config = with_long_context(llama3(d_model, n_layers, n_heads, ffn_dim), 32.0);
  config.head_dim = head_dim;
  config.tie_embeddings = true;
  return config;
}

inline constexpr Config llama2_7b = llama2(4096, 32, 32, 32, 11008);
static_assert(parameter_count(llama2_7b).total == 6'738'415'616);

inline constexpr Config llama2_13b = llama2(5120, 40, 40, 40, 13824);
static_assert(parameter_count(llama2_13b).total == 13'015'864'320);

inline constexpr Config llama2_70b = llama2(8192, 80, 64, 8, 28672);
static_assert(parameter_count(llama2_70b).total == 68'976'648'192);

inline constexpr Config llama3_8b = llama3(4096, 32, 32, 14336);
static_assert(parameter_count(llama3_8b).total == 8'030'261'248);

inline constexpr Config llama3_70b = llama3(8192, 80, 64, 28672);
static_assert(parameter_count(llama3_70b).total == 70'553'706'496);

inline constexpr Config llama3_1_8b = with_long_context(llama3_8b, 8.0);
static_assert(parameter_count(llama3_1_8b).total == 8'030'261'248);

inline constexpr Config llama3_1_70b = with_long_context(llama3_70b, 8.0);
static_assert(parameter_count(llama3_1_70b).total == 70'553'706'496);

inline constexpr Config llama3_1_405b = with_long_context(llama3(16384, 126, 128, 53248), 8.0);
static_assert(parameter_count(llama3_1_405b).total == 405'853'388'800);

inline constexpr Config llama3_2_1b = llama3_2(2048, 16, 32, 64, 8192);
static_assert(parameter_count(llama3_2_1b).total == 1'235'814'400);

inline constexpr Config llama3_2_3b = llama3_2(3072, 28, 24, 128, 8192);
static_assert(parameter_count(llama3_2_3b).total == 3'212'749'824);

inline constexpr Config tinyllama_1_1b{.vocab_size = 32000,
                                       .d_model = 2048,
                                       .n_layers = 22,
                                       .n_heads = 32,
                                       .n_kv_heads = 4,
                                       .head_dim = 64,
                                       .ffn_dim = 5632,
                                       .max_seq_len = 2048,
                                       .rope_theta = 10000.0,
                                       .norm_eps = 1e-5};
static_assert(parameter_count(tinyllama_1_1b).total == 1'100'048'384);

}  // namespace llm::configs
