// Mixtures of experts on the CPU: the reference's loops over blocks of rows. They cost little beside the experts' products.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/backend/reference/mixture.hpp>

namespace llm::cpu {

/// f(args of these rows, first row) for blocks of rows of a router.
template <class F>
void for_routed_rows(const RouteArgs& args, const F& f) {
  const std::int64_t work = 8 * args.experts * (args.active + 1);
  parallel_blocks(args.rows, (std::max)(std::int64_t{1}, serial_work / (4 * (std::max)(work, std::int64_t{1}))), work,
                  [&](std::int64_t begin, std::int64_t end) {
                    RouteArgs some = args;
                    some.rows = end - begin;
                    f(some, begin);
                  });
}

template <class T>
void route_forward(const RouteArgs& args, const T* logits, const T* bias, std::int32_t* experts, compute_t<T>* weights) {
  for_routed_rows(args, [&](const RouteArgs& some, std::int64_t row) {
    reference::route_forward<T>(some, logits + row * args.experts, bias, experts + row * args.active, weights + row * args.active);
  });
}

template <class T>
void route_backward(const RouteArgs& args, const T* logits, const std::int32_t* experts, const compute_t<T>* dweights, T* dlogits,
                    bool add) {
  for_routed_rows(args, [&](const RouteArgs& some, std::int64_t row) {
    reference::route_backward<T>(some, logits + row * args.experts, experts + row * args.active, dweights + row * args.active,
                                 dlogits + row * args.experts, add);
  });
}

/// Sums of blocks of rows, added in their order, so that they do not depend on the number of threads.
template <class T>
void router_statistics(const RouteArgs& args, const T* logits, const std::int32_t* experts, compute_t<T>* statistics) {
  using C = compute_t<T>;
  constexpr std::int64_t block = 64;
  const std::int64_t width = 2 * args.experts + 1, blocks = ceil_div(args.rows, block);
  C* const parts = workspace<C>(Slot::shared, blocks * width);
  parallel_blocks(args.rows, block, args.experts * 8, [&](std::int64_t begin, std::int64_t end) {
    RouteArgs some = args;
    some.rows = end - begin;
    reference::router_statistics<T>(some, logits + begin * args.experts, experts + begin * args.active, parts + begin / block * width);
  });
  std::fill(statistics, statistics + width, C(0));
  for (std::int64_t i = 0; i < blocks; ++i)
    for (std::int64_t at = 0; at < width; ++at) statistics[at] += parts[i * width + at];
}

template <class T>
void router_losses_backward(const RouteArgs& args, const T* logits, const compute_t<T>* losses, T* dlogits) {
  for_routed_rows(args, [&](const RouteArgs& some, std::int64_t row) {
    reference::router_losses_backward<T>(some, logits + row * args.experts, losses, dlogits + row * args.experts);
  });
}

template <class T>
void gather_rows(const std::int32_t* order, const T* x, T* y, std::int64_t count, std::int64_t active, std::int64_t cols) {
  parallel_blocks(count, rows_per_block(cols), cols, [&](std::int64_t begin, std::int64_t end) {
    reference::gather_rows<T>(order + begin, x, y + begin * cols, end - begin, active, cols);
  });
}

template <class T>
void scale_rows(const std::int32_t* order, const compute_t<T>* weights, T* y, std::int64_t count, std::int64_t cols) {
  parallel_blocks(count, rows_per_block(cols), cols, [&](std::int64_t begin, std::int64_t end) {
    reference::scale_rows<T>(order + begin, weights, y + begin * cols, end - begin, cols);
  });
}

template <class T>
void row_dots(const std::int32_t* order, const T* a, const T* b, compute_t<T>* dweights, std::int64_t count, std::int64_t cols, bool add) {
  parallel_blocks(count, rows_per_block(cols), cols, [&](std::int64_t begin, std::int64_t end) {
    reference::row_dots<T>(order + begin, a + begin * cols, b + begin * cols, dweights, end - begin, cols, add);
  });
}

/// Columns in pieces whose sums stay in the first cache, so that each row of z is read along.
template <class T>
void combine_rows(const std::int32_t* places, const compute_t<T>* weights, const T* z, T* y, std::int64_t rows, std::int64_t active,
                  std::int64_t cols, bool add) {
  using C = compute_t<T>;
  constexpr std::int64_t some_cols = 256;
  parallel_blocks(rows, rows_per_block(cols * active), cols * active, [&](std::int64_t begin, std::int64_t end) {
    C sums[some_cols];
    for (std::int64_t r = begin; r < end; ++r)
      for (std::int64_t first = 0; first < cols; first += some_cols) {
        const std::int64_t some = (std::min)(some_cols, cols - first);
        std::fill(sums, sums + some, C(0));
        for (std::int64_t c = r * active; c < (r + 1) * active; ++c) {
          const C weight = weights == nullptr ? C(1) : weights[c];
          const T* const from = z + places[c] * cols + first;
          for (std::int64_t i = 0; i < some; ++i) sums[i] += weight * C(from[i]);
        }
        for (std::int64_t i = 0; i < some; ++i) reference::store(y[r * cols + first + i], sums[i], add);
      }
  });
}

}  // namespace llm::cpu
