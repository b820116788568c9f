// Table of token (or position) vectors.
#pragma once

#include <llm/nn/parameter.hpp>
#include <llm/ops/embedding.hpp>

namespace llm {

/// ids [...] -> [..., D]. The table [V, D] may also serve as the output head (tied embeddings).
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

}  // namespace llm
