// Config: what a decoder-only language model is made of, as one aggregate that is a value and a template argument.
#pragma once

#include <cstdint>

#include <llm/core/norm_position.hpp>
#include <llm/core/rope_scaling.hpp>
#include <llm/core/rounding.hpp>

namespace llm {

enum class Norm : std::uint8_t { rms_norm, layer_norm };

/// How positions enter. rope_half pairs dimension i with i + rope_dim / 2 (Hugging Face), rope_interleaved 2i with 2i + 1 (RoPE's paper).
enum class Position : std::uint8_t { rope_half, rope_interleaved, learned, none };

/// swiglu and geglu_tanh are gated: down(act(gate(x)) * up(x)), with SiLU or GELU's tanh form; the others are down(act(up(x))).
enum class Mlp : std::uint8_t { swiglu, gelu_tanh, gelu_erf, geglu_tanh };

/// How a router turns its scores into the weights of experts.
enum class RouterScore : std::uint8_t { softmax, sigmoid };

/// A mixture of experts in place of the MLP: a router [count, d_model] sends each token to `active` of `count` gated MLPs; off while
/// count is 0. Sources: arXiv:2401.04088 (Mixtral), 2401.06066 and 2412.19437 (shared experts, bias and groups of DeepSeek).
struct Experts {
  std::int64_t count = 0;           // routed experts of a layer
  std::int64_t active = 0;          // of these, chosen for a token
  std::int64_t ffn_dim = 0;         // width of one; 0: Config::ffn_dim
  std::int64_t shared_ffn_dim = 0;  // width of the shared experts, which every token passes, together; 0: none
  bool shared_gate = false;         // sigmoid(x w) weighs the shared experts' output (Qwen2-MoE)
  std::int64_t first_dense = 0;     // so many layers at the start keep a dense MLP of Config::ffn_dim
  std::int64_t every = 1;           // after them, every n-th layer has experts, the others a dense MLP
  RouterScore score = RouterScore::softmax;
  bool normalise = true;           // weights of the chosen experts sum to 1
  bool score_bias = false;         // a bias for each expert, for the choice alone (DeepSeek-V3)
  double scale = 1.0;              // the weights are multiplied by it
  std::int64_t groups = 1;         // experts stand in so many groups ...
  std::int64_t active_groups = 1;  // ... and only the best of them are chosen from
  // For training alone; files of other coefficients fit. See LLM::loss.
  double router_aux_loss_coef = 0.0;  // coefficient of the loss that keeps the experts equally busy; 0: none
  double router_z_loss_coef = 0.0;    // of the one that keeps the router's logits small; 0: none

  friend constexpr bool operator==(const Experts&, const Experts&) = default;
};

/// Multi-head latent attention: keys and values come from a latent vector that is cached in their place; off while kv_rank is 0.
/// A query or key head is [nope_dim | rope_dim], rotated in its second part alone. Source: arXiv:2405.04434 (DeepSeek-V2).
struct Mla {
  std::int64_t kv_rank = 0;   // width of the cached latent; with it rope_dim elements are cached, shared by the heads
  std::int64_t q_rank = 0;    // width of the queries' latent; 0: queries come from x directly
  std::int64_t nope_dim = 0;  // part of a head that is not rotated
  std::int64_t rope_dim = 0;  // part that is
  std::int64_t v_dim = 0;     // width of a value head

  /// nope_dim + rope_dim, held at the limit where that exceeds 63 bits.
  constexpr std::int64_t head_width() const {
    if (nope_dim < 0 || rope_dim < 0) return 0;
    return nope_dim > INT64_MAX - rope_dim ? INT64_MAX : nope_dim + rope_dim;
  }

  friend constexpr bool operator==(const Mla&, const Mla&) = default;
};

/// A decoder-only transformer. Fields without a default must be given; the rest default to Llama's choice.
/// Names follow the papers and the published Llama configurations. `validate(config)` lists what is wrong with one. What a config can say
/// is counted by the accountant; what `LLM` can build of it is less, and the compiler says what is missing.
struct Config {
  std::int64_t vocab_size = 0;
  std::int64_t d_model = 0;
  std::int64_t n_layers = 0;
  std::int64_t n_heads = 0;     // query heads
  std::int64_t n_kv_heads = 0;  // 0: as many as n_heads (MHA); 1 is MQA, between them GQA
  std::int64_t head_dim = 0;    // 0: d_model / n_heads, which must then be exact; with mla: nope_dim + rope_dim
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
  RopeScaling rope_scaling = {};
  bool qk_norm = false;        // RMSNorm of each query and key head, gain shared by heads, before RoPE
  bool qk_norm_joint = false;  // with qk_norm: one norm over all heads' width, before they are split (OLMo 2)
  Mlp mlp = Mlp::swiglu;
  bool qkv_bias = false;
  bool attention_out_bias = false;
  bool mlp_bias = false;
  std::int64_t sliding_window = 0;        // W > 0: position p sees p - W + 1 .. p; 0: all earlier positions
  std::int64_t full_attention_every = 0;  // n > 0: layers n, 2n, ... (counted from 1) see all positions despite sliding_window
  double rope_theta_window = 0.0;         // rope_theta of the layers with a window, unscaled; 0: as the others (Gemma 3: 10000)
  bool parallel_residual = false;         // x + attention(norm1(x)) + mlp(norm2(x)), as GPT-NeoX
  bool norm_gain_offset = false;          // published files store w for a gain of 1 + w (Gemma); a model has the gain
  bool scale_embeddings = false;          // embeddings are multiplied by sqrt(d_model) (Gemma)
  double attention_scale = 0.0;           // factor of the scores; 0: 1 / sqrt(head width)
  double attention_softcap = 0.0;         // s -> cap tanh(s / cap) on the scores; 0: none (Gemma 2)
  double logit_softcap = 0.0;             // the same on the logits
  Experts experts = {};
  Mla mla = {};

  /// KV heads with the default resolved.
  constexpr std::int64_t kv_heads() const { return n_kv_heads != 0 ? n_kv_heads : n_heads; }
  /// Width of a query and key head with the default resolved (0 while n_heads is not positive).
  constexpr std::int64_t head_width() const {
    if (head_dim != 0) return head_dim;
    if (latent_attention()) return mla.head_width();
    return n_heads > 0 ? d_model / n_heads : 0;
  }
  /// Rotated width of a head with the default resolved; 0 when positions are not rotary.
  constexpr std::int64_t rope_width() const {
    if (!rotary()) return 0;
    if (latent_attention()) return mla.rope_dim;
    return rope_dim != 0 ? rope_dim : head_width();
  }
  constexpr std::int64_t q_dim() const { return n_heads * head_width(); }
  constexpr std::int64_t kv_dim() const { return kv_heads() * head_width(); }
  constexpr bool rotary() const { return position == Position::rope_half || position == Position::rope_interleaved; }
  constexpr bool gated() const { return mlp == Mlp::swiglu || mlp == Mlp::geglu_tanh; }
  constexpr bool latent_attention() const { return mla.kv_rank != 0; }
  constexpr bool has_experts() const { return experts.count != 0; }
  /// Whether routers add to the loss.
  constexpr bool router_losses() const {
    return has_experts() && (experts.router_aux_loss_coef != 0.0 || experts.router_z_loss_coef != 0.0);
  }
  /// Width of one expert with the default resolved.
  constexpr std::int64_t expert_ffn_dim() const { return experts.ffn_dim != 0 ? experts.ffn_dim : ffn_dim; }
  /// Whether layer i, from 0, has experts in place of the dense MLP.
  constexpr bool expert_layer(std::int64_t i) const {
    return has_experts() && i >= experts.first_dense && (i - experts.first_dense + 1) % experts.every == 0;
  }
  /// Whether layer i, from 0, sees only the last sliding_window positions.
  constexpr bool windowed_layer(std::int64_t i) const {
    return sliding_window > 0 && (full_attention_every == 0 || (i + 1) % full_attention_every != 0);
  }

  friend constexpr bool operator==(const Config&, const Config&) = default;
};

}  // namespace llm
