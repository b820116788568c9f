// Linear map with a stored (possibly quantised) matrix: inference only, nothing is recorded.
#pragma once

#include <llm/ops/check.hpp>
#include <llm/tensor/stored_matrix.hpp>

namespace llm {

/// y = x W^T + b. x [..., K], weight [N, K] in any format, bias [N] or null -> [..., N]. Accumulates in f32.
template <class T, class SX, std::int64_t N, std::int64_t K, class Backend>
auto linear(const Tensor<T, SX, Backend>& x, const StoredMatrix<N, K, Backend>& weight, const T* bias = nullptr) {
  static_assert(detail::same_extent<detail::last_extent<SX>, K>,
                "llm::linear(x [..., K], weight [N, K]): the last extent of x must equal the weight's columns");
  detail::require_equal("llm::linear(x [..., K], weight [N, K])", "K of x", detail::last(x.shape()), "K of weight", K);
  detail::require_filled("llm::linear(x [..., K], weight [N, K])", weight);
  auto y = Tensor<T, detail::with_last<SX, N>, Backend>::empty(detail::replace_last<N>(x.shape(), N));
  Backend::template linear_forward_stored<T>(x.data(), weight.format(), weight.data(), bias, y.data(), detail::rows(x.shape()), N, K);
  return y;
}

}  // namespace llm
