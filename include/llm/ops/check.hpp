// Shape algebra that ops share: which extents fit, the last axis, and the shapes that come out.
#pragma once

#include <llm/tensor/tensor.hpp>

namespace llm::detail {

/// Two extents may be equal: they are, or one is known at run time only. Named so that the compiler prints both numbers.
template <std::int64_t A, std::int64_t B>
inline constexpr bool same_extent = A == dyn || B == dyn || A == B;

/// The rank of an argument is the one a function takes.
template <int Rank, int Expected>
inline constexpr bool has_rank = Rank == Expected;

/// Ids and targets are int32 or int64.
template <class Index>
inline constexpr bool is_token_id = std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>;

/// Elements that activations and weights are made of.
template <class T>
inline constexpr bool is_feature = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bf16>;

/// Whether all are tensors of one element type on one backend.
template <class... Arguments>
inline constexpr bool alike = false;
template <class T, class Backend, class... S>
inline constexpr bool alike<Tensor<T, S, Backend>...> = true;

/// A is a multiple of B as far as the constants tell.
template <std::int64_t A, std::int64_t B>
inline constexpr bool multiple_of = A == dyn || B == dyn || (B > 0 && A % B == 0);

template <class S>
inline constexpr std::int64_t last_extent = S::rank == 0 ? 1 : S::static_extent(S::rank - 1);

/// Static extent of axis i, or dyn where a (wrong) shape has no such axis, so that one mistake gives one error.
template <class S, int I>
inline constexpr std::int64_t axis = I < S::rank ? S::static_extent(I) : dyn;

template <class S>
std::int64_t last(const S& shape) {
  if constexpr (S::rank == 0)
    return 1;
  else
    return shape.extent(S::rank - 1);
}

/// All extents may be equal.
template <class A, class B>
inline constexpr bool same_shape = [] {
  if (A::rank != B::rank) return false;
  for (int i = 0; i < A::rank && i < B::rank; ++i) {
    const std::int64_t a = A::static_extent(i), b = B::static_extent(i);
    if (a != dyn && b != dyn && a != b) return false;
  }
  return true;
}();

/// Number of rows when the last axis is the row.
template <class S>
std::int64_t rows(const S& shape) {
  std::int64_t n = 1;
  for (int i = 0; i + 1 < S::rank; ++i) n *= shape.extent(i);
  return n;
}

template <class S, std::int64_t N>
struct WithLast;
template <std::int64_t N, std::int64_t... E>
struct WithLast<Shape<E...>, N> {
  template <class I>
  struct Build;
  template <std::size_t... I>
  struct Build<std::index_sequence<I...>> {
    using type = Shape<(I + 1 == sizeof...(E) ? N : E)...>;
  };
  using type = typename Build<std::make_index_sequence<sizeof...(E)>>::type;
};
/// The shape with its last axis replaced by N.
template <class S, std::int64_t N>
using with_last = typename WithLast<S, N>::type;

/// The value of with_last<S, N> whose last extent is n.
template <std::int64_t N, class S>
with_last<S, N> replace_last(const S& shape, std::int64_t n) {
  using To = with_last<S, N>;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::array<std::int64_t, sizeof...(I) + 1> values{};
    std::size_t at = 0;
    for (int i = 0; i < To::rank; ++i)
      if (To::static_extent(i) == dyn) values[at++] = i + 1 == To::rank ? n : shape.extent(i);
    if constexpr (sizeof...(I) == 0)
      return To();
    else
      return To(values[I]...);
  }
  (std::make_index_sequence<static_cast<std::size_t>(To::rank_dynamic)>());
}

/// Throws ShapeError unless the run-time values agree; what: "columns of lhs", "rows of rhs", ...
inline void require_equal(const char* function, const char* left, std::int64_t a, const char* right, std::int64_t b) {
  if (a != b) throw ShapeError(concat(function, ": ", left, " is ", a, " but ", right, " is ", b));
}

/// Throws ValueError unless every id is in [0, limit).
template <class Backend, class Index>
void require_ids(const char* function, const Index* ids, std::int64_t count, std::int64_t limit) {
  const std::int64_t at = Backend::index_outside(ids, count, limit);
  if (at < 0) return;
  Index id;
  Backend::memory::copy_to_host(&id, ids + at, sizeof(Index));
  throw ValueError(concat(function, ": id ", static_cast<std::int64_t>(id), " at position ", at, " is outside [0, ", limit, ")"));
}

}  // namespace llm::detail
