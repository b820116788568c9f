// What the architectures of GGUF files have in common: sizes, heads, biases, experts.
#pragma once

#include <cstdint>

#include <llm/core/error.hpp>
#include <llm/io/gguf_config_keys.hpp>
#include <llm/io/gguf_config_rope.hpp>
#include <llm/io/gguf_key_names.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/model/config.hpp>

namespace llm::detail::gguf {

/// The vocabulary's size by every source there is; they must agree.
inline std::int64_t read_vocab_size(Keys& keys) {
  const auto* embedding = keys.file().find_shape("token_embd.weight");
  if (embedding == nullptr) keys.fail("has no tensor 'token_embd.weight'");
  if (embedding->size() != 2) keys.fail(concat("tensor 'token_embd.weight' has ", embedding->size(), " dimensions, expected 2"));
  const std::int64_t rows = embedding->front();
  if (const auto size = keys.find_count(key::vocab_size); size && *size != rows)
    keys.fail(key::vocab_size, concat("is ", *size, ", but 'token_embd.weight' has ", rows, " rows"));
  if (const GgufValue* tokens = keys.file().find_metadata("tokenizer.ggml.tokens")) {
    if (!tokens->array()) keys.fail("key 'tokenizer.ggml.tokens' is no array");
    if (const std::int64_t size = tokens->array()->size(); size != rows)
      keys.fail(concat("key 'tokenizer.ggml.tokens' has ", size, " tokens, but 'token_embd.weight' has ", rows, " rows"));
  }
  return rows;
}

inline void read_embedding(Keys& keys, Config& config) {
  config.vocab_size = read_vocab_size(keys);
  config.d_model = keys.count(key::embedding_length);
  if (const std::int64_t width = keys.file().find_shape("token_embd.weight")->back(); width != config.d_model)
    keys.fail(key::embedding_length, concat("is ", config.d_model, ", but 'token_embd.weight' has rows of ", width));
  config.tie_embeddings = !keys.has_tensor("output.weight");
}

/// Heads that keys and values share one width of.
inline void read_heads(Keys& keys, Config& config) {
  config.n_heads = keys.positive(key::head_count);
  config.n_kv_heads = keys.find_positive(key::head_count_kv).value_or(config.n_heads);
  const auto width = keys.find_positive(key::key_length);
  if (!width && config.d_model % config.n_heads != 0)
    keys.fail(key::key_length, "is missing, and embedding_length is no multiple of attention.head_count");
  config.head_dim = width.value_or(config.d_model / config.n_heads);
  if (const auto value_width = keys.find_count(key::value_length); value_width && *value_width != config.head_dim)
    keys.fail(key::value_length, concat("is ", *value_width, ", but keys are ", config.head_dim, " wide: that is not supported"));
}

/// Which vectors are added to products shows in the tensors alone.
inline void read_biases(const Keys& keys, Config& config) {
  config.qkv_bias = keys.has_tensor("blk.0.attn_q.bias") || keys.has_tensor("blk.0.attn_qkv.bias");
  config.attention_out_bias = keys.has_tensor("blk.0.attn_output.bias");
  config.mlp_bias = keys.has_tensor("blk.0.ffn_up.bias");
}

/// What every architecture has in the same words.
inline Config read_common(Keys& keys, const Config& defaults) {
  Config config = defaults;
  read_embedding(keys, config);
  config.n_layers = keys.count(key::block_count);
  config.ffn_dim = keys.count(key::feed_forward_length);
  config.max_seq_len = keys.count(key::context_length);
  config.norm_eps = keys.number(config.norm == Norm::rms_norm ? key::layer_norm_rms_epsilon : key::layer_norm_epsilon);
  if (keys.find_flag("attention.causal") == false)
    keys.fail("attention.causal", "is false: positions that see later ones are not supported");
  read_biases(keys, config);
  return config;
}

/// A model with plain attention, rotary or not.
inline Config read_plain(Keys& keys, const Config& defaults) {
  Config config = read_common(keys, defaults);
  read_heads(keys, config);
  if (config.rotary()) read_rope(keys, config);
  return config;
}

/// Fills what every mixture of experts has; `normalise` is what the format's own program takes where the file does not say it.
inline void read_experts(Keys& keys, Config& config, bool normalise) {
  Experts& experts = config.experts;
  experts.count = keys.find_count(key::expert_count).value_or(0);
  const auto active = keys.find_count(key::expert_used_count);
  if (experts.count == 0) return;
  if (!active) keys.fail(key::expert_used_count, "is missing");
  experts.active = *active;
  experts.ffn_dim = keys.find_positive(key::expert_feed_forward_length).value_or(0);
  experts.normalise = keys.find_flag(key::expert_weights_norm).value_or(normalise);
  experts.scale = keys.find_number(key::expert_weights_scale).value_or(1.0);
  const std::int64_t score = keys.find_count(key::expert_gating_func).value_or(1);
  if (score != 1 && score != 2) keys.fail(key::expert_gating_func, concat("is ", score, ", which is not known (1 softmax, 2 sigmoid)"));
  experts.score = score == 1 ? RouterScore::softmax : RouterScore::sigmoid;
}

}  // namespace llm::detail::gguf
