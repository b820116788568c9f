// Rows of a table, picked by id.
#pragma once

#include <llm/autograd/gradient.hpp>
#include <llm/ops/check.hpp>

namespace llm {

namespace detail {

template <class T, class Index, class Backend>
struct EmbeddingOp {
  Saved<Index> ids;
  Grad<T, Backend> d_table, d_y;
  std::int64_t count, V, D;

  void backward() {
    const auto dt = d_table.write_wide();
    if (!dt.add) Backend::template fill<compute_t<T>>(dt.data, V * D, 0.0);
    Backend::template embedding_backward<T>(ids.data(), d_y.read(), dt.data, count, V, D);
  }
};

template <class S, std::int64_t N>
struct Appended;
template <std::int64_t N, std::int64_t... E>
struct Appended<Shape<E...>, N> {
  using type = Shape<E..., N>;
};

/// The shape with one more axis of width d (D where constant).
template <std::int64_t D, class S>
auto append_extent(const S& shape, std::int64_t d) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    using To = typename Appended<S, D>::type;
    std::array<std::int64_t, sizeof...(I) + 2> values{};
    std::size_t at = 0;
    for (int i = 0; i < S::rank; ++i)
      if (S::static_extent(i) == dyn) values[at++] = shape.extent(i);
    values[at] = d;  // not read when D is a constant
    if constexpr (sizeof...(I) == 0)
      return To();
    else
      return To(values[I]...);
  }
  (std::make_index_sequence<static_cast<std::size_t>(S::rank_dynamic + (D == dyn ? 1 : 0))>());
}

}  // namespace detail

/// y[..., :] = table[ids[...], :]. ids [...] (int32 or int64), table [V, D] -> [..., D].
/// Throws llm::ValueError for an id outside [0, V). Saves the ids.
template <class T, class Index, class SI, class ST, class Backend>
auto embedding(const Tensor<Index, SI, Backend>& ids, const Tensor<T, ST, Backend>& table) {
  static_assert(detail::is_token_id<Index>, "llm::embedding(ids [...], table [V, D]): ids must be int32 or int64, the table comes second");
  static_assert(detail::has_rank<ST::rank, 2>, "llm::embedding(ids [...], table [V, D]): the table must have rank 2");
  constexpr std::int64_t D = detail::axis<ST, 1>;
  const std::int64_t count = ids.numel(), v = table.extent(0), d = table.extent(1);
  const auto shape = detail::append_extent<D>(ids.shape(), d);
  auto y = Tensor<T, std::remove_const_t<decltype(shape)>, Backend>::empty(shape);
  if constexpr (detail::is_token_id<Index>) {  // else the assertion above is the one error
    detail::require_ids<Backend>("llm::embedding(ids [...], table [V, D])", ids.data(), count, v);
    Backend::template embedding_forward<T>(ids.data(), table.data(), y.data(), count, d);
    if (Tape* const tape = recording(table)) {
      const auto d_y = output_gradient(y);
      using G = Grad<T, Backend>;
      tape->record(y, detail::EmbeddingOp<T, Index, Backend>{Saved<Index>(ids), G(table), d_y, count, v, d});
    }
  }
  return y;
}

}  // namespace llm
