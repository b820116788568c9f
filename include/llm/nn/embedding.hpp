// Table of token (or position) vectors.
#pragma once

#include <llm/nn/parameter.hpp>
#include <llm/ops/embedding.hpp>
#include <llm/ops/embedding_stored.hpp>

namespace llm {

/// ids [...] -> [..., D]. The table [V, D] may also serve as the output head (tied embeddings). T is the element type, or Frozen: a table
/// in any storage format.
template <std::int64_t V, std::int64_t D, class T = float, class Backend = Cpu>
struct Embedding {
  using Table = Tensor<T, Shape<V, D>, Backend>;
  Table weight = detail::make_parameter<Table>();

  template <class Index, class S>
  auto operator()(const Tensor<Index, S, Backend>& ids) const {
    return embedding(ids, weight);
  }
  template <class F>
  void visit(F&& f) const {
    f(weight, ParameterKind::matrix, "weight");
  }
};

template <std::int64_t V, std::int64_t D, class Backend>
struct Embedding<V, D, Frozen, Backend> {
  using Table = StoredMatrix<V, D, Backend>;
  Table weight;

  template <class Index, class S>
  auto operator()(const Tensor<Index, S, Backend>& ids) const {
    return embedding(ids, weight);
  }
  template <class F>
  void visit(F&& f) const {
    f(weight, ParameterKind::matrix, "weight");
  }
};

}  // namespace llm
