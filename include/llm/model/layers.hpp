// The blocks of a model: one array for each kind of block, walked in the order of the layers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <llm/model/account_parameters.hpp>
#include <llm/model/parts.hpp>

namespace llm {

/// All blocks of a model. Kinds differ in the types of their layers, so that 32 layers compile like as many as there are kinds; what
/// differs in values alone, as windows do, is one kind.
template <const Config& C, class Weights, class Backend>
class Layers {
  using P = Parts<C, Weights, Backend>;
  static constexpr std::int64_t sparse = detail::expert_layers(C).value, dense = C.n_layers - sparse;
  template <class Block, std::int64_t Count>
  using Blocks = std::array<Block, static_cast<std::size_t>(Count)>;

 public:
  /// f(block, its layer) for every layer in turn.
  template <class F>
  void for_each(const F& f) {
    walk(*this, f);
  }
  template <class F>
  void for_each(const F& f) const {
    walk(*this, f);
  }

 private:
  template <class Self, class F>
  static void walk(Self& self, const F& f) {
    std::size_t at[2] = {0, 0};  // how many of each kind have been
    for (std::int64_t i = 0; i < C.n_layers; ++i) {
      if constexpr (sparse > 0)
        if (dense == 0 || C.expert_layer(i)) {
          f(self.sparse_[at[1]++], i);
          continue;
        }
      if constexpr (dense > 0) f(self.dense_[at[0]++], i);
    }
  }

  Blocks<typename P::DenseBlock, dense> dense_;
  Blocks<typename P::SparseBlock, sparse> sparse_;
};

}  // namespace llm
