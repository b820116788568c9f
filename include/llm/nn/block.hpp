// A transformer block: attention and feed-forward, each with a norm and a residual connection.
#pragma once

#include <llm/nn/attention.hpp>
#include <llm/nn/mlp.hpp>
#include <llm/ops/add.hpp>

namespace llm {

namespace detail {
/// The widths of a block's layers are one.
template <std::int64_t Norm, std::int64_t Attention, std::int64_t Mlp>
inline constexpr bool same_widths = Norm == Attention&& Attention == Mlp;
}  // namespace detail

/// x [B, T, D] -> [B, T, D]. Pre-norm, or post-norm (PostNorm) as in the original transformer (arXiv:1706.03762).
template <class NormLayer, class AttentionLayer, class MlpLayer, bool PostNorm = false>
struct Block {
  static_assert(detail::same_widths<NormLayer::width, AttentionLayer::width, MlpLayer::width>,
                "llm::Block<NormLayer, AttentionLayer, MlpLayer>: all three layers must have the same width");
  static constexpr std::int64_t width = AttentionLayer::width;
  NormLayer attn_norm;
  AttentionLayer attn;
  NormLayer mlp_norm;
  MlpLayer mlp;

  template <class X, class PassType>
  X operator()(X x, const PassType& pass) const {
    if constexpr (PostNorm) {
      x = attn_norm(x + attn(x, pass));
      x = mlp_norm(x + mlp(x));
    } else {
      x = x + attn(attn_norm(x), pass);
      x = x + mlp(mlp_norm(x));
    }
    return x;
  }
};

}  // namespace llm
