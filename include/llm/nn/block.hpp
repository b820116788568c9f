// A transformer block: attention and feed-forward, each with a norm and a residual connection.
#pragma once

#include <llm/core/norm_position.hpp>
#include <llm/nn/attention.hpp>
#include <llm/nn/mlp.hpp>
#include <llm/ops/add.hpp>

namespace llm {

namespace detail {
/// The widths of a block's layers are one.
template <std::int64_t Norm, std::int64_t Attention, std::int64_t Mlp>
inline constexpr bool same_widths = Norm == Attention&& Attention == Mlp;
}  // namespace detail

/// x [B, T, D] -> [B, T, D], with norms where Position says. Parallel: both branches start from x, as in GPT-NeoX.
/// Sources: arXiv:1706.03762 (post), 2002.04745 (pre), 2408.00118 (sandwich), 2501.00656 (branch), 2204.06745 (parallel).
template <class NormLayer, class AttentionLayer, class MlpLayer, NormPosition Position = NormPosition::pre, bool Parallel = false>
struct Block {
  static_assert(detail::same_widths<NormLayer::width, AttentionLayer::width, MlpLayer::width>,
                "llm::Block<NormLayer, AttentionLayer, MlpLayer>: all three layers must have the same width");
  static constexpr std::int64_t width = AttentionLayer::width;
  static constexpr bool norms_results = Position == NormPosition::branch || Position == NormPosition::sandwich;
  static constexpr bool norms_stream = Position != NormPosition::branch;
  struct NoNorm {};
  using StreamNorm = std::conditional_t<norms_stream, NormLayer, NoNorm>;
  using ResultNorm = std::conditional_t<norms_results, NormLayer, NoNorm>;

  [[no_unique_address]] StreamNorm attn_norm;
  AttentionLayer attn;
  [[no_unique_address]] ResultNorm attn_result_norm;
  [[no_unique_address]] StreamNorm mlp_norm;
  MlpLayer mlp;
  [[no_unique_address]] ResultNorm mlp_result_norm;

  template <class X, class PassType>
  X operator()(X x, const PassType& pass) const {
    if constexpr (Position == NormPosition::post) {
      x = attn_norm(x + attn(x, pass));
      x = mlp_norm(x + feed(x, pass));
    } else if constexpr (Position == NormPosition::branch) {
      x = x + attn_result_norm(attn(x, pass));
      x = x + mlp_result_norm(feed(x, pass));
    } else if constexpr (Position == NormPosition::sandwich) {
      x = x + attn_result_norm(attn(attn_norm(x), pass));
      x = x + mlp_result_norm(feed(mlp_norm(x), pass));
    } else if constexpr (Parallel) {
      const X y = x + attn(attn_norm(x), pass);
      x = y + feed(mlp_norm(x), pass);
    } else {
      x = x + attn(attn_norm(x), pass);
      x = x + feed(mlp_norm(x), pass);
    }
    return x;
  }

 private:
  /// The MLP, or the mixture of experts.
  template <class X, class PassType>
  X feed(const X& x, [[maybe_unused]] const PassType& pass) const {
    if constexpr (requires { mlp(x, pass.routers); })
      return mlp(x, pass.routers);
    else
      return mlp(x);
  }
};

}  // namespace llm
