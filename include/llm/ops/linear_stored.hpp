// Linear map with a stored (possibly quantised) matrix: inference only, nothing is recorded.
#pragma once

#include <tuple>

#include <llm/backend/concept.hpp>
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

/// Several such maps of the same x at once: a tuple of what linear(x, map.weight, map.bias) gives for each, bit for bit. A backend reads x
/// once for all. Maps have a `weight`, a StoredMatrix [N, K], and a `bias`, a tensor [N], or anything else for none.
template <class T, class SX, class Backend, class... Maps>
auto linears(const Tensor<T, SX, Backend>& x, const Maps&... maps) {
  constexpr const char* name = "llm::linears(x [..., K], maps with weight [N, K])";
  static_assert((detail::same_extent<detail::last_extent<SX>, decltype(maps.weight)::columns> && ...),
                "llm::linears(x [..., K], maps with weight [N, K]): the last extent of x must equal each weight's columns");
  (detail::require_equal(name, "K of x", detail::last(x.shape()), "K of weight", decltype(maps.weight)::columns), ...);
  (detail::require_filled(name, maps.weight), ...);
  std::tuple y{Tensor<T, detail::with_last<SX, decltype(maps.weight)::rows>, Backend>::empty(
      detail::replace_last<decltype(maps.weight)::rows>(x.shape(), decltype(maps.weight)::rows))...};
  const auto bias = []<class Bias>(const Bias& b) -> const T* {
    if constexpr (requires { b.data(); })
      return b.data();
    else
      return nullptr;
  };
  std::apply(
      [&](auto&... results) {
        const StoredProduct<T> products[] = {
            {maps.weight.format(), maps.weight.data(), bias(maps.bias), results.data(), decltype(maps.weight)::rows}...};
        Backend::template linear_forward_stored<T>(x.data(), products, static_cast<std::int64_t>(sizeof...(Maps)), detail::rows(x.shape()),
                                                   detail::last(x.shape()));
      },
      y);
  return y;
}

}  // namespace llm
