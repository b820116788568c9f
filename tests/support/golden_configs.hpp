// The configs of the published files in tests/data/goldens, and where they are.
#pragma once

#include <string>

#include <llm/model/config.hpp>

namespace llm_test {

/// hf/llama; the others differ from it.
inline constexpr llm::Config hf_llama{
    .vocab_size = 128, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8, .ffn_dim = 64, .max_seq_len = 64};
inline constexpr llm::Config hf_llama_tied = [] {
  llm::Config c = hf_llama;
  c.tie_embeddings = true;
  return c;
}();
inline constexpr llm::Config hf_llama_rope3 = [] {
  llm::Config c = hf_llama;
  c.n_heads = 2, c.n_kv_heads = 1, c.head_dim = 16;
  c.max_seq_len = 256;
  c.rope_theta = 500000.0;
  c.rope_scaling = {
      .kind = llm::RopeScalingKind::llama3, .factor = 8.0, .original_max_seq_len = 64, .low_freq_factor = 1.0, .high_freq_factor = 4.0};
  return c;
}();
inline constexpr llm::Config hf_mistral = [] {
  llm::Config c = hf_llama;
  c.sliding_window = 5;
  return c;
}();
inline constexpr llm::Config hf_qwen2 = [] {
  llm::Config c = hf_llama;
  c.rope_theta = 1e6, c.norm_eps = 1e-6;
  c.qkv_bias = true;
  return c;
}();
inline constexpr llm::Config hf_qwen3 = [] {
  llm::Config c = hf_llama;
  c.head_dim = 16;
  c.rope_theta = 1e6, c.norm_eps = 1e-6;
  c.qk_norm = true;
  return c;
}();
inline constexpr llm::Config hf_qwen3_moe = [] {
  llm::Config c = hf_qwen3;
  c.head_dim = 8;
  c.experts = {.count = 4, .active = 2, .ffn_dim = 24};
  return c;
}();
inline constexpr llm::Config hf_gpt2{.vocab_size = 128,
                                     .d_model = 32,
                                     .n_layers = 2,
                                     .n_heads = 4,
                                     .ffn_dim = 128,
                                     .max_seq_len = 64,
                                     .tie_embeddings = true,
                                     .norm = llm::Norm::layer_norm,
                                     .position = llm::Position::learned,
                                     .mlp = llm::Mlp::gelu_tanh,
                                     .qkv_bias = true,
                                     .attention_out_bias = true,
                                     .mlp_bias = true};
/// hf/mixtral, qwen2_moe and olmoe differ from it, as do others that make_families.py writes.
inline constexpr llm::Config hf_family{
    .vocab_size = 64, .d_model = 16, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 4, .ffn_dim = 24, .max_seq_len = 32};
inline constexpr llm::Config hf_mixtral = [] {
  llm::Config c = hf_family;
  c.rope_theta = 1e6, c.experts = {.count = 4, .active = 2};
  return c;
}();
inline constexpr llm::Config hf_qwen2_moe = [] {
  llm::Config c = hf_family;
  c.n_layers = 3, c.ffn_dim = 20, c.norm_eps = 1e-6, c.qkv_bias = true;
  c.experts = {.count = 5, .active = 2, .ffn_dim = 12, .shared_ffn_dim = 28, .shared_gate = true, .normalise = false};
  return c;
}();
inline constexpr llm::Config hf_olmoe = [] {
  llm::Config c = hf_family;
  c.ffn_dim = 12, c.qk_norm = c.qk_norm_joint = true, c.experts = {.count = 6, .active = 3, .normalise = false};
  return c;
}();
/// The same with the other convention of RoPE.
template <const llm::Config& C>
inline constexpr llm::Config other_rope = [] {
  llm::Config c = C;
  c.position = C.position == llm::Position::rope_half ? llm::Position::rope_interleaved : llm::Position::rope_half;
  return c;
}();
/// tiny.gguf.
inline constexpr llm::Config tiny_gguf{.vocab_size = 500,
                                       .d_model = 32,
                                       .n_layers = 2,
                                       .n_heads = 4,
                                       .n_kv_heads = 2,
                                       .head_dim = 8,
                                       .ffn_dim = 256,
                                       .max_seq_len = 64,
                                       .position = llm::Position::rope_interleaved};

inline std::string golden_path(const std::string& name) { return std::string(LLM_TEST_DATA) + "/goldens/" + name; }

}  // namespace llm_test
