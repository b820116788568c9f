// The attention layer: projections, QK-norm, rotary positions, grouped-query attention, output projection.
#pragma once

#include <llm/nn/linear.hpp>
#include <llm/nn/norm.hpp>
#include <llm/nn/pass.hpp>

namespace llm {

/// What decides the types inside an attention layer.
struct AttentionSpec {
  std::int64_t d_model, n_heads, n_kv_heads, head_dim;
  std::int64_t rope_width = 0;  // 0: no rotary positions
  bool qk_norm = false;
  bool qk_norm_joint = false;  // over the width of all heads, before they are split (OLMo 2)
  bool qkv_bias = false;
  bool out_bias = false;
};

/// x [B, T, D] -> [B, T, D]. Order as Qwen3: project, split heads, norm q and k (gain per head width, shared by heads), rotate, attend.
template <AttentionSpec A, class Weights = Trainable<float>, class Backend = Cpu>
struct Attention {
  using T = typename Weights::value_type;
  static constexpr std::int64_t D = A.d_model, H = A.n_heads, K = A.n_kv_heads, E = A.head_dim, width = D;
  struct NoNorm {};
  template <std::int64_t Heads>
  using HeadNorm = std::conditional_t<A.qk_norm, RmsNorm<A.qk_norm_joint ? Heads * E : E, typename Weights::element_type, Backend>, NoNorm>;

  Linear<D, H * E, A.qkv_bias, Weights, Backend> q_proj;
  Linear<D, K * E, A.qkv_bias, Weights, Backend> k_proj, v_proj;
  Linear<H * E, D, A.out_bias, Weights, Backend> o_proj;
  [[no_unique_address]] HeadNorm<H> q_norm;
  [[no_unique_address]] HeadNorm<K> k_norm;
  std::int64_t window = 0;
  double scale = 0.0;  // of the scores; 0: 1 / sqrt(E)

  template <class KV>
  Tensor<T, Shape<dyn, dyn, D>, Backend> operator()(const Tensor<T, Shape<dyn, dyn, D>, Backend>& x,
                                                    const Pass<A.rope_width, KV, Backend>& pass) const {
    const Shape<dyn, dyn, H, E> q_heads(x.extent(0), x.extent(1));
    const Shape<dyn, dyn, K, E> kv_heads(x.extent(0), x.extent(1));
    if constexpr (std::is_same_v<Weights, Frozen>) {  // nothing is recorded, and x is read once for all three
      auto [flat_q, flat_k, v] = linears(x, q_proj, k_proj, v_proj);
      auto q = heads(std::move(flat_q), q_heads, q_norm);  // a statement each: then nothing else holds their memory when they are rotated
      auto k = heads(std::move(flat_k), kv_heads, k_norm);
      return attend(std::move(q), std::move(k), v.view(kv_heads), pass);
    } else {
      auto q = heads(q_proj(x), q_heads, q_norm);
      auto k = heads(k_proj(x), kv_heads, k_norm);
      return attend(std::move(q), std::move(k), v_proj(x).view(kv_heads), pass);
    }
  }

  /// A pass for other rotary positions.
  template <class Other>
  Tensor<T, Shape<dyn, dyn, D>, Backend> operator()(const Tensor<T, Shape<dyn, dyn, D>, Backend>&, const Other&) const {
    static_assert(detail::pass_for<Other, A.rope_width, Backend>,
                  "llm::Attention::operator()(x [B, T, D], pass): the pass must be an llm::Pass of the layer's rope_width and backend");
    return {};
  }
  /// Another stream.
  template <class X, class Other>
  Tensor<T, Shape<dyn, dyn, D>, Backend> operator()(const X&, const Other&) const {
    static_assert(std::is_same_v<X, Tensor<T, Shape<dyn, dyn, D>, Backend>>,
                  "llm::Attention::operator()(x [B, T, D], pass): x must be a tensor of Shape<dyn, dyn, D> and of the layer's element type "
                  "and backend");
    return {};
  }

  /// f(layer, kind of its matrix, name).
  template <class Visit>
  void visit(Visit&& f) const {
    f(q_proj, ParameterKind::matrix, "q_proj");
    f(k_proj, ParameterKind::matrix, "k_proj");
    f(v_proj, ParameterKind::matrix, "v_proj");
    f(o_proj, ParameterKind::residual_output, "o_proj");
    if constexpr (A.qk_norm) {
      f(q_norm, ParameterKind::gain, "q_norm");
      f(k_norm, ParameterKind::gain, "k_norm");
    }
  }

 private:
  /// q [B, T, H, E], k and v [B, T, K, E] -> [B, T, D]
  template <class Q, class KeysOrValues, class PassType>
  auto attend(Q q, KeysOrValues k, const KeysOrValues& v, const PassType& pass) const {
    if constexpr (A.rope_width > 0) {
      q = rope(std::move(q), *pass.rope, pass.positions);
      k = rope(std::move(k), *pass.rope, pass.positions);
    }
    const AttentionOptions options{.causal = true, .window = window, .scale = scale, .documents = pass.documents};
    const auto y = pass.cache ? attention<K>(q, pass.cache.append(k, v), options) : attention(q, k, v, options);  // [B, T, H, E]
    return o_proj(y.view(Shape<dyn, dyn, H * E>(y.extent(0), y.extent(1))));
  }

  /// All heads' vectors side by side, as heads, normed together or one by one.
  template <class Flat, class Heads, class HeadNormLayer>
  static auto heads(Flat x, const Heads& shape, const HeadNormLayer& norm) {
    if constexpr (!A.qk_norm)
      return x.view(shape);
    else if constexpr (A.qk_norm_joint)
      return norm(x).view(shape);
    else
      return norm(x.view(shape));
  }
};

}  // namespace llm
