// Kernels with one fault each, and their right twins: what the emulator and the sanitizers must report, and must not.
//
// Usage: faults NAME. Runs the kernel in each order of threads. Prints "right", "wrong result" or the exception's text for each; a
// sanitizer adds its report. The test suite knows which of them to expect (CMakeLists.txt).
#include <support/cuda_emulator.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/memory.hpp>

namespace {

using llm::device::block_sum;
using llm::device::dynamic_shared;
using llm::device::Plus;
using llm::device::warp_join;

// Each kernel writes y [64] from one or two blocks of 64 threads; the right result is 64 everywhere unless the table below says otherwise.

/// A block sum of ones; without the second barrier a fast warp overwrites what a slow one has yet to read.
template <bool barrier_before, bool barrier_after>
__device__ float sum_of(float value, float* scratch) {
  value = warp_join(value, Plus{});
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  if (barrier_before) __syncthreads();
  value = scratch[0] + scratch[1];
  if (barrier_after) __syncthreads();
  return value;
}
template <bool barrier_before, bool barrier_after>
__global__ void two_sums(float* y) {
  float* const scratch = dynamic_shared<float>();
  const float count = sum_of<barrier_before, barrier_after>(1.0f, scratch);
  const float twice = sum_of<barrier_before, barrier_after>(count / 32, scratch);  // 2 * 64
  y[threadIdx.x] = twice / 2;
}

/// A warp turns its numbers round through shared memory, which needs __syncwarp.
template <bool barrier>
__global__ void turn_round(float* y) {
  __shared__ float turned[64];
  turned[threadIdx.x] = static_cast<float>(threadIdx.x % 32);
  if (barrier) __syncwarp();
  const float other = turned[threadIdx.x / 32 * 32 + 31 - threadIdx.x % 32];
  y[threadIdx.x] = 33 + other + static_cast<float>(threadIdx.x % 32);
}

template <int past>
__global__ void global_overrun(float* y) {
  y[threadIdx.x + past] = 64;
  if (threadIdx.x == 0) y[0] = 64;
}

template <int past>
__global__ void shared_overrun(float* y) {
  __shared__ float cells[64];
  if (threadIdx.x == 0) cells[0] = 64;
  __syncthreads();
  cells[threadIdx.x + past] = 64;
  __syncthreads();
  y[threadIdx.x] = cells[threadIdx.x];
}

template <int past>
__global__ void dynamic_overrun(float* y) {
  float* const cells = dynamic_shared<float>();  // [64]
  if (threadIdx.x == 0) cells[0] = 64;
  __syncthreads();
  cells[threadIdx.x + past] = 64;
  __syncthreads();
  y[threadIdx.x] = cells[threadIdx.x];
}

/// Not a template: g++ 12 does not fill static shared arrays of templates with NaN.
__global__ void unwritten_static(float* y) {
  __shared__ float cells[64];
  if (threadIdx.x < 10) cells[threadIdx.x] = 64;
  __syncthreads();
  y[threadIdx.x] = cells[threadIdx.x];
}
template <unsigned written>
__global__ void unwritten_dynamic(float* y) {
  float* const cells = dynamic_shared<float>();
  if (threadIdx.x < written) cells[threadIdx.x] = 64;
  __syncthreads();
  y[threadIdx.x] = cells[threadIdx.x];
}

/// A count over the threads of a block: y[0] ends at 64 in any order, which hides the race from a plain run.
template <bool atomic>
__global__ void add_within_block(float* y) {
  if (atomic)
    atomicAdd(&y[0], 1.0f);
  else
    y[0] += 1;
  if (threadIdx.x > 0) y[threadIdx.x] = 64;
}

/// Thread 0 of both blocks adds, after a barrier of its own block, which orders nothing between blocks.
template <bool atomic>
__global__ void add_between_blocks(float* y) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomic)
    atomicAdd(&y[0], 32.0f);
  else
    y[0] += 32;
}

/// Both blocks use the same shared array, each its own.
__global__ void shared_of_each_block(float* y) {
  __shared__ float cells[64];
  cells[threadIdx.x] = 64;
  __syncthreads();
  if (blockIdx.x == 0) y[threadIdx.x] = cells[63 - threadIdx.x];
}

__global__ void barrier_in_branches(float* y) {
  if (threadIdx.x < 40) {
    __syncthreads();
  } else {
    y[threadIdx.x] = 64;
    __syncthreads();
  }
}

__global__ void shuffle_without_all_lanes(float* y) {
  if (threadIdx.x >= 20) return;
  y[threadIdx.x] = 2 * warp_join(1.0f, Plus{});
}

/// The same shuffle twice, once by all lanes and once by half of them under their own mask.
__global__ void shuffle_by_half_a_warp(float* y) {
  float value = 1;
  if (threadIdx.x % 32 < 16) value = __shfl_xor_sync(0xffffu, 2.0f, 1);
  y[threadIdx.x] = 64 / 48.0f * warp_join(value, Plus{});
}

struct Fault {
  const char* name;
  void (*kernel)(float*);
  unsigned blocks;
  bool one_result;  // only y[0] is a result, it starts at 0
};

constexpr Fault faults[] = {
    {"missing_barrier", two_sums<false, true>, 1, false},
    {"missing_second_barrier", two_sums<true, false>, 1, false},
    {"right_barriers", two_sums<true, true>, 1, false},
    {"missing_syncwarp", turn_round<false>, 1, false},
    {"right_syncwarp", turn_round<true>, 1, false},
    {"global_overrun", global_overrun<1>, 1, false},
    {"right_global", global_overrun<0>, 1, false},
    {"shared_overrun", shared_overrun<1>, 1, false},
    {"right_shared", shared_overrun<0>, 1, false},
    {"dynamic_overrun", dynamic_overrun<1>, 1, false},
    {"right_dynamic", dynamic_overrun<0>, 1, false},
    {"unwritten_static", unwritten_static, 1, false},
    {"unwritten_dynamic", unwritten_dynamic<10>, 1, false},
    {"right_written", unwritten_dynamic<64>, 1, false},
    {"race_within_block", add_within_block<false>, 1, true},
    {"right_atomic_within_block", add_within_block<true>, 1, true},
    {"race_between_blocks", add_between_blocks<false>, 2, true},
    {"right_atomic_between_blocks", add_between_blocks<true>, 2, true},
    {"right_shared_of_each_block", shared_of_each_block, 2, false},
    {"divergent_barrier", barrier_in_branches, 1, false},
    {"absent_lanes", shuffle_without_all_lanes, 1, false},
    {"right_half_warp", shuffle_by_half_a_warp, 1, false},
};

void run(const Fault& fault) {
  auto* const y = static_cast<float*>(llm::CudaMemory::allocate(64 * sizeof(float)));  // its end is an end of memory to AddressSanitizer
  y[0] = 0;
  const char* result = "right";
  try {
    llm::device::launch(fault.kernel, fault.blocks, 64, 64 * sizeof(float), y);
    for (int i = 0; i < (fault.one_result ? 1 : 64); ++i)
      if (!(std::fabs(y[i] - 64) < 1e-3f)) result = "wrong result";
    std::printf("%s\n", result);
  } catch (const std::exception& error) {
    std::printf("%.200s\n", error.what());
  }
  llm::CudaMemory::release(y, 64 * sizeof(float));
}

}  // namespace

int main(int argc, char** argv) {
  using cuda_emulator::Order;
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Fault& fault : faults) {
    if (name != fault.name) continue;
    for (const Order order : {Order::ascending, Order::descending, Order::random}) {
      cuda_emulator::settings.order = order;
      run(fault);
    }
    return 0;
  }
  std::fprintf(stderr, "usage: faults NAME\n");
  return 2;
}
