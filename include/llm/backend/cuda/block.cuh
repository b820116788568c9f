// What the threads of a block do together: wide accesses and sums.
#pragma once

#include <cstdint>

#include <llm/backend/cuda/launch.hpp>

namespace llm::device {

/// Width neighbouring elements, read or written in one access.
template <class T, int Width>
struct alignas(sizeof(T) * Width) Pack {
  T values[Width];
};

/// Elements of T in a 16-byte access.
template <class T>
inline constexpr int full_width = static_cast<int>(16 / sizeof(T));

/// Whether rows of `cols` elements that begin at these pointers can be accessed 16 bytes at a time.
template <class T, class... P>
bool accessible_wide(std::int64_t cols, const P*... rows) {
  return cols % full_width<T> == 0 && ((reinterpret_cast<std::uintptr_t>(rows) % 16 == 0) && ...);
}

/// The sum over the warp, in every lane.
template <class C>
static __device__ C warp_sum(C value) {
  for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(0xffffffffu, value, bits);
  return value;
}

/// The sum over the block, in every thread, in an order that does not vary. The block is a row of whole warps.
/// scratch: 32 values of shared memory, which may be used again at once.
template <class C>
static __device__ C block_sum(C value, C* scratch) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = warp_sum(lane < warps ? scratch[lane] : C{0});
  __syncthreads();
  return value;
}

}  // namespace llm::device
