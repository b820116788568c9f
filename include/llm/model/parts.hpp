// From a Config to the types of a model's layers.
#pragma once

#include <type_traits>

#include <llm/model/config.hpp>
#include <llm/nn/block.hpp>
#include <llm/nn/embedding.hpp>
#include <llm/nn/mixture.hpp>

namespace llm {

/// The layer types that a valid Config stands for.
template <const Config& C, class Weights, class Backend>
struct Parts {
  using T = typename Weights::element_type;
  static constexpr std::int64_t V = C.vocab_size, D = C.d_model, F = C.ffn_dim, L = C.n_layers;
  static constexpr bool post_norm = C.norm_position == NormPosition::post;
  static constexpr AttentionSpec attention{.d_model = D,
                                           .n_heads = C.n_heads,
                                           .n_kv_heads = C.kv_heads(),
                                           .head_dim = C.head_width(),
                                           .rope_width = C.rope_width(),
                                           .qk_norm = C.qk_norm,
                                           .qk_norm_joint = C.qk_norm_joint,
                                           .qkv_bias = C.qkv_bias,
                                           .out_bias = C.attention_out_bias};
  static constexpr Activation gelu = C.mlp == Mlp::gelu_erf ? Activation::gelu_erf : Activation::gelu_tanh;
  static constexpr Activation gate = C.mlp == Mlp::swiglu ? Activation::silu : Activation::gelu_tanh;
  static constexpr MixtureSpec mixture{.d_model = D,
                                       .experts = C.experts.count,
                                       .ffn_dim = C.expert_ffn_dim(),
                                       .gate = gate,
                                       .score_bias = C.experts.score_bias,
                                       .shared_ffn_dim = C.experts.shared_ffn_dim,
                                       .shared_gate = C.experts.shared_gate};
  static constexpr RouteOptions route{.active = C.experts.active,
                                      .groups = C.experts.groups,
                                      .active_groups = C.experts.active_groups,
                                      .sigmoid = C.experts.score == RouterScore::sigmoid,
                                      .normalise = C.experts.normalise,
                                      .scale = C.experts.scale};

  using NormLayer = std::conditional_t<C.norm == Norm::rms_norm, RmsNorm<D, T, Backend>, LayerNorm<D, T, Backend>>;
  using AttentionLayer = llm::Attention<attention, Weights, Backend>;
  using MlpLayer =
      std::conditional_t<C.gated(), GatedMlp<D, F, gate, C.mlp_bias, Weights, Backend>, GeluMlp<D, F, gelu, C.mlp_bias, Weights, Backend>>;
  using DenseBlock = Block<NormLayer, AttentionLayer, MlpLayer, C.norm_position, C.parallel_residual>;
  using SparseBlock = Block<NormLayer, AttentionLayer, Mixture<mixture, Weights, Backend>, C.norm_position, C.parallel_residual>;

  struct None {};
  using PositionTable = std::conditional_t<C.position == Position::learned, Embedding<C.max_seq_len, D, T, Backend>, None>;
  using FinalNorm = std::conditional_t<post_norm, None, NormLayer>;
  using Head = std::conditional_t<C.tie_embeddings, None, Linear<D, V, false, Weights, Backend>>;
};

}  // namespace llm
