// Config: what a decoder-only language model is made of, as one aggregate that is a value and a template argument.
#pragma once

#include <cstdint>

#include <llm/core/rounding.hpp>

namespace llm {

enum class Norm : std::uint8_t { rms_norm, layer_norm };

/// pre: x + f(norm(x)) and a final norm. post: norm(x + f(x)), no final norm, as in the original transformer.
enum class NormPosition : std::uint8_t { pre, post };

/// How positions enter. rope_half pairs dimension i with i + rope_dim / 2 (Hugging Face), rope_interleaved 2i with 2i + 1 (RoPE's paper).
enum class Position : std::uint8_t { rope_half, rope_interleaved, learned, none };

enum class Mlp : std::uint8_t { swiglu, gelu_tanh, gelu_erf };

/// A decoder-only transformer. Fields without a default must be given; the rest default to Llama's choice.
/// Names follow the papers and the published Llama configurations. `validate(config)` lists what is wrong with one.
struct Config {
  std::int64_t vocab_size = 0;
  std::int64_t d_model = 0;
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;     // query heads
  std::int64_t n_kv_heads = 0;  // 0: as many as n_heads (MHA); 1 is MQA, between them GQA
  std::int64_t head_dim = 0;    // 0: d_model / n_heads, which must then be exact
  std::int64_t ffn_dim = 0;
  std::int64_t max_seq_len = 0;
  double rope_theta = 10000.0;
  double norm_eps = 1e-5;
  bool tie_embeddings = false;  // the output head shares the embedding's matrix
  Norm norm = Norm::rms_norm;
  Rounding norm_rounding = Rounding::round_then_gain;
  NormPosition norm_position = NormPosition::pre;
  Position position = Position::rope_half;
  std::int64_t rope_dim = 0;  // rotated width of a head, from its start; 0: all of it
  bool qk_norm = false;       // RMSNorm of each query and key head, gain shared by heads, before RoPE
  Mlp mlp = Mlp::swiglu;
  bool qkv_bias = false;
  bool attention_out_bias = false;
  bool mlp_bias = false;
  std::int64_t sliding_window = 0;  // W > 0: position p sees p - W + 1 .. p; 0: all earlier positions

  /// KV heads with the default resolved.
  constexpr std::int64_t kv_heads() const { return n_kv_heads != 0 ? n_kv_heads : n_heads; }
  /// Head width with the default resolved (0 while n_heads is not positive).
  constexpr std::int64_t head_width() const { return head_dim != 0 ? head_dim : n_heads > 0 ? d_model / n_heads : 0; }
  /// Rotated width of a head with the default resolved; 0 when positions are not rotary.
  constexpr std::int64_t rope_width() const { return !rotary() ? 0 : rope_dim != 0 ? rope_dim : head_width(); }
  constexpr std::int64_t q_dim() const { return n_heads * head_width(); }
  constexpr std::int64_t kv_dim() const { return kv_heads() * head_width(); }
  constexpr bool rotary() const { return position == Position::rope_half || position == Position::rope_interleaved; }
  constexpr bool gated() const { return mlp == Mlp::swiglu; }

  friend constexpr bool operator==(const Config&, const Config&) = default;
};

}  // namespace llm
