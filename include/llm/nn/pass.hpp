// What one forward pass brings to every block: positions, rotary tables, and the cache's layer when there is a cache.
#pragma once

#include <llm/ops/attention.hpp>
#include <llm/ops/rope.hpp>
#include <llm/ops/router_losses.hpp>

namespace llm {

/// One layer of a KV cache for the rows of this pass. k and v are [rows, capacity, K, E]; null without a cache.
template <class KV, class Backend>
struct CacheLayer {
  KV* k = nullptr;
  KV* v = nullptr;
  std::int64_t batch_stride = 0;
  const std::int64_t* starts = nullptr;   // [rows] positions cached before this pass
  const std::int64_t* lengths = nullptr;  // [rows] positions cached after it; null when all rows have S
  std::int64_t S = 0;                     // the largest of them

  explicit operator bool() const { return k != nullptr; }

  /// Appends k and v [rows, T, K, E] in place and returns what attention reads.
  template <class T, class S4>
  KvView<KV> append(const Tensor<T, S4, Backend>& keys, const Tensor<T, S4, Backend>& values) const {
    const std::int64_t rows = keys.extent(0), t = keys.extent(1), width = keys.extent(2) * keys.extent(3);
    Backend::template cache_append<T, KV>(keys.data(), k, rows, t, width, batch_stride, starts);
    Backend::template cache_append<T, KV>(values.data(), v, rows, t, width, batch_stride, starts);
    return {k, v, S, lengths, batch_stride, width, keys.extent(3)};
  }
};

/// The surroundings of a block's forward pass. RopeWidth 0: no rotary positions.
template <std::int64_t RopeWidth, class KV, class Backend>
struct Pass {
  const RopeTables<RopeWidth, Backend>* rope = nullptr;
  Positions<Backend> positions{};
  CacheLayer<KV, Backend> cache{};
  Documents documents{};  // without a cache
  RouterLog routers{};    // where the block's router notes what it chose
};

namespace detail {
template <class Other, std::int64_t RopeWidth, class Backend>
inline constexpr bool pass_for = false;
template <std::int64_t RopeWidth, class KV, class Backend>
inline constexpr bool pass_for<Pass<RopeWidth, KV, Backend>, RopeWidth, Backend> = true;
}  // namespace detail

}  // namespace llm
