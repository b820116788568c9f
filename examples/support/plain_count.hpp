// The parameter count of a model by the formulas of the papers, to hold the library's accountant against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <llm/model/config.hpp>

namespace examples {

/// The formulas of the papers, written out for a model with the given number of KV heads; nothing here calls the library's accountant.
/// A figure of a part is 0 when no layer has it.
struct PlainCount {
  std::int64_t attention = 0, norms = 0, mlp = 0;
  std::int64_t router = 0, expert = 0, shared_experts = 0, moe = 0;
  std::int64_t dense_layers = 0, moe_layers = 0, block = 0, moe_block = 0, blocks = 0;
  std::int64_t embedding = 0, positions = 0, final_norm = 0, head = 0;
  std::int64_t total = 0, active = 0, kv_numbers_per_token = 0;

  PlainCount(const llm::Config& c, std::int64_t n_kv_heads) {
    const std::int64_t norm = c.norm == llm::Norm::layer_norm ? c.d_model + c.d_model : c.d_model;
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) ++(has_experts(c, layer) ? moe_layers : dense_layers);

    norms = c.norm_position == llm::NormPosition::sandwich ? norm + norm + norm + norm : norm + norm;
    if (c.mla.kv_rank > 0)
      count_latent_attention(c);
    else
      count_attention(c, n_kv_heads);
    if (dense_layers > 0) count_mlp(c);
    if (moe_layers > 0) count_experts(c);

    block = dense_layers > 0 ? attention + mlp + norms : 0;
    moe_block = moe_layers > 0 ? attention + moe + norms : 0;
    blocks = dense_layers * block + moe_layers * moe_block;
    embedding = c.vocab_size * c.d_model;
    positions = c.position == llm::Position::learned ? c.max_seq_len * c.d_model : 0;
    final_norm = c.norm_position == llm::NormPosition::post ? 0 : norm;
    head = c.tie_embeddings ? 0 : c.d_model * c.vocab_size;
    total = embedding + positions + blocks + final_norm + head;
    active = total - moe_layers * (c.experts.count - c.experts.active) * expert;
  }

 private:
  static bool has_experts(const llm::Config& c, std::int64_t layer) {
    return c.experts.count > 0 && layer >= c.experts.first_dense && (layer + 1 - c.experts.first_dense) % c.experts.every == 0;
  }

  static bool has_gate(const llm::Config& c) { return c.mlp == llm::Mlp::swiglu || c.mlp == llm::Mlp::geglu_tanh; }

  void count_attention(const llm::Config& c, std::int64_t n_kv_heads) {
    const std::int64_t width = c.head_dim > 0 ? c.head_dim : c.d_model / c.n_heads;
    const std::int64_t q = c.n_heads * width;
    const std::int64_t kv = n_kv_heads * width;
    attention = c.d_model * q + c.d_model * kv + c.d_model * kv + q * c.d_model;
    if (c.qkv_bias) attention += q + kv + kv;
    if (c.attention_out_bias) attention += c.d_model;
    if (c.qk_norm) norms += c.qk_norm_joint ? q + kv : width + width;
    kv_numbers_per_token = c.n_layers * (kv + kv);
  }

  /// x -> latent of the queries -> queries; x -> latent of keys and values, with a norm on each; the latent -> keys and values.
  void count_latent_attention(const llm::Config& c) {
    const std::int64_t q = c.n_heads * (c.mla.nope_dim + c.mla.rope_dim);
    const std::int64_t keys_and_values = c.n_heads * c.mla.nope_dim + c.n_heads * c.mla.v_dim;
    attention = c.mla.q_rank > 0 ? c.d_model * c.mla.q_rank + c.mla.q_rank * q : c.d_model * q;
    attention += c.d_model * c.mla.kv_rank + c.d_model * c.mla.rope_dim + c.mla.kv_rank * keys_and_values;
    attention += c.n_heads * c.mla.v_dim * c.d_model;
    if (c.attention_out_bias) attention += c.d_model;
    norms += c.mla.q_rank + c.mla.kv_rank;
    kv_numbers_per_token = c.n_layers * (c.mla.kv_rank + c.mla.rope_dim);
  }

  void count_mlp(const llm::Config& c) {
    mlp = c.d_model * c.ffn_dim + c.ffn_dim * c.d_model;
    if (has_gate(c)) mlp += c.d_model * c.ffn_dim;
    if (c.mlp_bias) mlp += (has_gate(c) ? c.ffn_dim + c.ffn_dim : c.ffn_dim) + c.d_model;
  }

  /// Experts are gated: three matrices each.
  void count_experts(const llm::Config& c) {
    const std::int64_t width = c.experts.ffn_dim > 0 ? c.experts.ffn_dim : c.ffn_dim;
    router = c.d_model * c.experts.count;
    if (c.experts.score_bias) router += c.experts.count;
    expert = 3 * c.d_model * width;
    shared_experts = 3 * c.d_model * c.experts.shared_ffn_dim;
    if (c.experts.shared_gate) shared_experts += c.d_model;
    moe = router + c.experts.count * expert + shared_experts;
  }
};

/// 502193664 -> "502,193,664"
inline std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace examples
