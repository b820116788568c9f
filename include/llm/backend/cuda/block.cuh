// What kernels share: wide accesses, sums and maxima over a block, and the threads of elementwise kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cuda/launch.hpp>
#include <llm/detail/platform.hpp>

namespace llm::device {

/// Width neighbouring elements, read or written in one access.
template <class T, int Width>
struct alignas(sizeof(T) * Width) Pack {
  T values[Width];
};

/// Elements of T in a 16-byte access.
template <class T>
inline constexpr int full_width = static_cast<int>(16 / sizeof(T));

/// Whether 16 bytes can be accessed at these addresses, null among them.
template <class... P>
LLM_HOST_DEVICE bool aligned(const P*... addresses) {
  return ((reinterpret_cast<std::uintptr_t>(addresses) % 16 == 0) && ...);
}

/// Whether rows of `cols` elements that begin at these pointers can be accessed 16 bytes at a time.
template <class T, class... P>
bool accessible_wide(std::int64_t cols, const P*... rows) {
  return cols % full_width<T> == 0 && aligned(rows...);
}

/// a + b
struct Plus {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};

/// The larger of two numbers, NaN when one of them is NaN.
struct Larger {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};

/// The values of all lanes joined by a commutative operation, in every lane.
template <class C, class Join>
static __device__ C warp_join(C value, Join join) {
  for (int bits = 16; bits > 0; bits /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, bits));
  return value;
}

/// The values of all threads of the block joined, in every thread, in an order that does not vary. The block is a row of whole warps;
/// `nothing` is what changes no value that it is joined to. scratch: 32 values of shared memory, which may be used again at once.
template <class C, class Join>
static __device__ C block_join(C value, C nothing, C* scratch, Join join) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_join(value, join);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = warp_join(lane < warps ? scratch[lane] : nothing, join);
  __syncthreads();
  return value;
}

/// The sum over the block, in every thread. See block_join.
template <class C>
static __device__ C block_sum(C value, C* scratch) {
  return block_join(value, C{0}, scratch, Plus{});
}

/// The thread's number in a grid of one dimension, and how many there are: where its loop over elements begins, and its step.
[[maybe_unused]] static __device__ std::int64_t first_of_grid() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
[[maybe_unused]] static __device__ std::int64_t threads_of_grid() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Starts a kernel over n elements, of which a thread takes 16 bytes of T, or one, at a time. Nothing happens when n is 0.
template <class T, class... P>
void launch_elements(void (*kernel)(P...), std::int64_t n, bool wide, std::type_identity_t<P>... arguments) {
  constexpr std::int64_t threads = 256, most_blocks = 4096;
  if (n == 0) return;
  const std::int64_t packs = wide ? n / full_width<T> : n;
  launch(kernel, static_cast<unsigned>((std::min)((packs + threads - 1) / threads, most_blocks)), static_cast<unsigned>(threads), 0,
         arguments...);
}

}  // namespace llm::device
