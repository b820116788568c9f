// Rotary position embedding, half-split or interleaved pairs. Source: arXiv:2104.09864 eq. 34.
#pragma once

#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// Turns the pairs of each head by the angle of its position: pair i is (i, i + width / 2), or (2 i, 2 i + 1) when interleaved.
/// x, y [B, T, heads, E], the same memory if wanted. See RopeArgs for the positions.
template <class T>
void rope(const RopeArgs& args, const T* x, T* y, bool add) {
  using C = compute_t<T>;
  const std::int64_t half = args.width / 2;
  for (std::int64_t b = 0; b < args.B; ++b)
    for (std::int64_t t = 0; t < args.T; ++t) {
      const std::int64_t position = (args.starts == nullptr ? args.start : args.starts[b]) + t;
      for (std::int64_t h = 0; h < args.heads; ++h) {
        const std::int64_t head = ((b * args.T + t) * args.heads + h) * args.E;
        for (std::int64_t i = 0; i < half; ++i) {
          const std::int64_t first = head + (args.interleaved ? 2 * i : i);
          const std::int64_t second = args.interleaved ? first + 1 : first + half;
          const C cosine = C(args.cos[position * half + i]);
          const C sine = args.inverse ? -C(args.sin[position * half + i]) : C(args.sin[position * half + i]);
          const C x0 = C(x[first]), x1 = C(x[second]);
          store(y[first], x0 * cosine - x1 * sine, add);
          store(y[second], x1 * cosine + x0 * sine, add);
        }
        for (std::int64_t e = args.width; e < args.E; ++e) store(y[head + e], C(x[head + e]), add);
      }
    }
}

}  // namespace llm::reference
