// The kernel of rotary embedding, and the function that starts it. Source: arXiv:2104.09864 eq. 34.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/block.cuh>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// A block has one position at a time, a thread Width pairs of a head or Width elements behind the rotated ones. With Width > 1 the pairs
/// are half-split, and E and width / 2 multiples of Width. x and y may be the same memory: each pair is one thread's.
template <class T, int Width>
static __global__ void rope(RopeArgs args, const T* x, T* y, bool add) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  const std::int64_t half = args.width / 2, pairs = half / Width, packs = pairs + (args.E - args.width) / Width;
  for (std::int64_t row = blockIdx.x; row < args.B * args.T; row += gridDim.x) {
    const std::int64_t position = (args.starts == nullptr ? args.start : args.starts[row / args.T]) + row % args.T;
    for (std::int64_t i = threadIdx.x; i < args.heads * packs; i += blockDim.x) {
      const std::int64_t head = (row * args.heads + i / packs) * args.E, pack = i % packs;
      const bool turned = pack < pairs;
      const std::int64_t pair = pack * Width;  // the first of Width
      const std::int64_t first = head + (turned && args.interleaved ? 2 * pair : turned ? pair : args.width + (pack - pairs) * Width);
      const std::int64_t second = args.interleaved ? first + 1 : first + half;
      const P a = *reinterpret_cast<const P*>(x + first), b = turned ? *reinterpret_cast<const P*>(x + second) : P{};
      P c = add ? *reinterpret_cast<const P*>(y + first) : P{}, d = add && turned ? *reinterpret_cast<const P*>(y + second) : P{};
      for (int j = 0; j < Width; ++j) {
        const C x0 = static_cast<C>(a.values[j]), x1 = static_cast<C>(b.values[j]);
        const C cosine = turned ? static_cast<C>(args.cos[position * half + pair + j]) : C{1};
        const C sine = turned ? static_cast<C>(args.sin[position * half + pair + j]) : C{0};
        const C signed_sine = args.inverse ? -sine : sine;
        reference::store(c.values[j], turned ? x0 * cosine - x1 * signed_sine : x0, add);
        reference::store(d.values[j], x1 * cosine + x0 * signed_sine, add);
      }
      *reinterpret_cast<P*>(y + first) = c;
      if (turned) *reinterpret_cast<P*>(y + second) = d;
    }
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// x, y [B, T, heads, E], the same memory if wanted. The tables and `starts` in args are in device memory. See RopeArgs.
template <class T>
void rope(const RopeArgs& args, const T* x, T* y, bool add) {
  const std::int64_t rows = args.B * args.T;
  if (rows == 0 || args.heads == 0 || args.E == 0) return;
  const bool wide = !args.interleaved && device::accessible_wide<T>(args.E, x, y) && args.width % (2 * device::full_width<T>) == 0;
  const auto kernel = wide ? device::rope<T, device::full_width<T>> : device::rope<T, 1>;
  const std::int64_t packs = args.heads * (args.E - args.width / 2) / (wide ? device::full_width<T> : 1);
  const std::int64_t threads = (std::min)((packs + 31) / 32 * 32, std::int64_t{256});
  device::launch(kernel, static_cast<unsigned>((std::min)(rows, std::int64_t{4096})), static_cast<unsigned>(threads), 0, args, x, y, add);
}

}  // namespace llm::cuda
