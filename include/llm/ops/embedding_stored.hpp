// Rows of a stored (possibly quantised) table, picked by id: inference only, nothing is recorded.
#pragma once

#include <llm/ops/embedding.hpp>
#include <llm/tensor/stored_matrix.hpp>

namespace llm {

/// y[..., :] = table[ids[...], :], decoded. ids [...] (int32 or int64), table [V, D] in any format -> [..., D] in f32.
/// Throws llm::ValueError for an id outside [0, V).
template <class Index, class SI, std::int64_t V, std::int64_t D, class Backend>
auto embedding(const Tensor<Index, SI, Backend>& ids, const StoredMatrix<V, D, Backend>& table) {
  constexpr const char* name = "llm::embedding(ids [...], table [V, D])";
  static_assert(detail::is_token_id<Index>, "llm::embedding(ids [...], table [V, D]): ids must be int32 or int64, the table comes second");
  const auto shape = detail::append_extent<D>(ids.shape(), D);
  auto y = Tensor<float, std::remove_const_t<decltype(shape)>, Backend>::empty(shape);
  if constexpr (detail::is_token_id<Index>) {  // else the assertion above is the one error
    detail::require_filled(name, table);
    detail::require_ids<Backend>(name, ids.data(), ids.numel(), V);
    Backend::template embedding_forward_stored<float>(ids.data(), table.format(), table.data(), y.data(), ids.numel(), D);
  }
  return y;
}

}  // namespace llm
