// The parameter count of a model by the formulas of the papers, to hold the library's accountant against.
#pragma once

#include <cstdint>
#include <string>

#include <llm/model/config.hpp>

namespace examples {

/// The formulas of the papers, written out for a model with the given number of KV heads; nothing here calls the library's accountant.
struct PlainCount {
  std::int64_t attention, mlp, norms, block, blocks, embedding, positions, final_norm, head, total, kv_numbers_per_token;

  PlainCount(const llm::Config& c, std::int64_t n_kv_heads) {
    const std::int64_t width = c.head_dim > 0 ? c.head_dim : c.d_model / c.n_heads;
    const std::int64_t q = c.n_heads * width;
    const std::int64_t kv = n_kv_heads * width;
    const std::int64_t norm = c.norm == llm::Norm::layer_norm ? c.d_model + c.d_model : c.d_model;

    attention = c.d_model * q + c.d_model * kv + c.d_model * kv + q * c.d_model;
    if (c.qkv_bias) attention += q + kv + kv;
    if (c.attention_out_bias) attention += c.d_model;

    mlp = c.d_model * c.ffn_dim + c.ffn_dim * c.d_model;
    if (c.mlp == llm::Mlp::swiglu) mlp += c.d_model * c.ffn_dim;
    if (c.mlp_bias) mlp += (c.mlp == llm::Mlp::swiglu ? c.ffn_dim + c.ffn_dim : c.ffn_dim) + c.d_model;

    norms = norm + norm;
    if (c.qk_norm) norms += width + width;

    block = attention + mlp + norms;
    blocks = c.n_layers * block;
    embedding = c.vocab_size * c.d_model;
    positions = c.position == llm::Position::learned ? c.max_seq_len * c.d_model : 0;
    final_norm = c.norm_position == llm::NormPosition::pre ? norm : 0;
    head = c.tie_embeddings ? 0 : c.d_model * c.vocab_size;
    total = embedding + positions + blocks + final_norm + head;
    kv_numbers_per_token = c.n_layers * (kv + kv);
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
