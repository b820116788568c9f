// Runs CUDA kernel source on the CPU, for tests: include it before the kernels and compile them as C++.
//
// Found without tools: barriers and warp operations that not all threads reach, reads of shared memory that nothing wrote (it holds NaN).
// With -fsanitize=address: accesses out of bounds. With -fsanitize=thread (clang; g++ 12 reports falsely): races, each CUDA thread counting
// as a thread and only barriers and warp operations as order. Compile with -O1 or higher.
// Not emulated: waits of one block for another, tensor cores, inline PTX, cooperative groups.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <support/cuda_emulator/engine.hpp>
#include <support/cuda_emulator/runtime.hpp>

#define LLM_CUDA_EMULATOR 1

#define __global__
#define __device__
#define __host__
#define blockIdx (cuda_emulator::block_index())
#define threadIdx (cuda_emulator::thread_index())

namespace cuda_emulator {

/// kernel<<<grid, block, shared_bytes>>>(arguments...), with the device's limits.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, std::type_identity_t<P>... arguments) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  const bool fits = threads > 0 && threads <= 1024 && block.z <= 64 && blocks > 0 && grid.x <= 0x7fffffffu && grid.y <= 65535 &&
                    grid.z <= 65535 && shared_bytes <= 48 * 1024;
  if (!fits) {
    last_error = cudaErrorInvalidConfiguration;
    return;
  }
  run(kernel, grid, block, shared_bytes, arguments...);
}

/// The block's dynamic shared memory.
template <class T>
CUDA_EMULATOR_UNSEEN T* dynamic_shared() {
  return reinterpret_cast<T*>(engine.dynamic_shared_begin);
}

/// Gives `value` to the lanes of the mask and returns the value of the lane that `source` names.
template <class T>
CUDA_EMULATOR_UNSEEN T shuffle(unsigned mask, T value, unsigned source, const char* what) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t given = 0;
  std::memcpy(&given, &value, sizeof(T));
  const std::uint64_t* const slots = warp_operation(mask, given, what);
  if ((mask >> source & 1u) == 0) fail(std::string(what) + ": reads a lane outside the mask");
  std::memcpy(&value, &slots[source], sizeof(T));
  return value;
}

/// One bit for each lane of the mask: what it gave.
CUDA_EMULATOR_UNSEEN unsigned ballot(unsigned mask, bool given, const char* what) {
  const std::uint64_t* const slots = warp_operation(mask, given ? 1 : 0, what);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1u) != 0) bits |= static_cast<unsigned>(slots[lane]) << lane;
  return bits;
}

/// An atomic read-modify-write that orders nothing else; returns the value before.
template <class T, class F>
T update(T* p, F next) {
  std::atomic_ref<T> cell(*p);
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, next(old), std::memory_order_relaxed)) {
  }
  return old;
}

CUDA_EMULATOR_UNSEEN unsigned lane() { return engine.current->lane(); }

}  // namespace cuda_emulator

inline void __syncthreads(int line = __builtin_LINE()) { cuda_emulator::barrier("__syncthreads", line); }
inline int __syncthreads_count(int vote, int line = __builtin_LINE()) {
  return cuda_emulator::vote_at_barrier(vote != 0, "__syncthreads_count", line);
}
inline int __syncthreads_or(int vote, int line = __builtin_LINE()) {
  return cuda_emulator::vote_at_barrier(vote != 0, "__syncthreads_or", line) != 0 ? 1 : 0;
}
inline void __syncwarp(unsigned mask = ~0u) { cuda_emulator::warp_operation(mask, 0, "__syncwarp"); }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const auto w = static_cast<unsigned>(width);
  return cuda_emulator::shuffle(mask, value, cuda_emulator::lane() / w * w + static_cast<unsigned>(source) % w, "__shfl_sync");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned own = cuda_emulator::lane(), w = static_cast<unsigned>(width), other = own ^ static_cast<unsigned>(bits);
  return cuda_emulator::shuffle(mask, value, other / w <= own / w ? other : own, "__shfl_xor_sync");
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned own = cuda_emulator::lane(), w = static_cast<unsigned>(width);
  return cuda_emulator::shuffle(mask, value, own % w + delta < w ? own + delta : own, "__shfl_down_sync");
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned own = cuda_emulator::lane(), w = static_cast<unsigned>(width);
  return cuda_emulator::shuffle(mask, value, own % w >= delta ? own - delta : own, "__shfl_up_sync");
}
inline unsigned __ballot_sync(unsigned mask, int vote) { return cuda_emulator::ballot(mask, vote != 0, "__ballot_sync"); }
inline int __any_sync(unsigned mask, int vote) { return cuda_emulator::ballot(mask, vote != 0, "__any_sync") != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int vote) { return cuda_emulator::ballot(mask, vote != 0, "__all_sync") == mask ? 1 : 0; }

template <class T>
T atomicAdd(T* p, std::type_identity_t<T> value) {
  return cuda_emulator::update(p, [=](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicMax(T* p, std::type_identity_t<T> value) {
  return cuda_emulator::update(p, [=](T old) { return (std::max)(old, value); });
}
template <class T>
T atomicExch(T* p, std::type_identity_t<T> value) {
  return cuda_emulator::update(p, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return cuda_emulator::update(p, [=](T old) { return old == expected ? value : old; });
}
