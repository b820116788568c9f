// The configs of the model files in tests/data/goldens, and what a loaded model must give.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <llm/generate/generate.hpp>
#include <support/model.hpp>

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

/// Greedy tokens after the first `prompt` of `expected` are the rest of it.
template <class Model>
void check_greedy(const Model& model, const std::vector<llm::Token>& expected, std::size_t prompt) {
  std::vector<llm::Token> seen(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(prompt));
  const auto count = static_cast<std::int64_t>(expected.size() - prompt);
  for (const llm::Token token : llm::generate(model, seen, {.max_new_tokens = count, .temperature = 0})) seen.push_back(token);
  CHECK(seen == expected);
}

/// Every layer, the logits and the greedy tokens of a directory's expected.safetensors.
template <class Model>
void check_directory(const Model& model, const std::string& directory) {
  constexpr double tolerance = 1e-4;  // as the files' metadata say
  const Golden file(directory + "/expected.safetensors");
  const auto ids = golden_ids<Model>(file, "input_ids");
  const auto states = model.hidden_states(ids);
  constexpr auto layers = static_cast<std::size_t>(Model::L);
  REQUIRE(states.size() == layers + 2);
  check_equal("embedding", states[0], file, "hidden.0", tolerance);
  for (std::size_t i = 0; i < layers; ++i)
    check_equal("layer " + std::to_string(i), states[i + 1], file, "layer." + std::to_string(i), tolerance);
  check_equal("final norm", states.back(), file, "hidden." + std::to_string(layers), tolerance);
  check_equal("logits", model(ids), file, "logits", tolerance);
  check_greedy(model, file.tensor<llm::Token>("greedy").values, 5);
}

}  // namespace llm_test
