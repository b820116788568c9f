// The emulator itself: indices, warp operations, votes, atomics, launch limits, provoked errors and their messages.
#include <support/cuda_emulator.hpp>

#include <cstddef>
#include <string>
#include <support/catch.hpp>
#include <vector>

#include <llm/backend/cuda/launch.hpp>
#include <llm/backend/cuda/memory.hpp>

namespace {

using Catch::Contains;
using llm::device::launch;

__global__ void write_indices(unsigned* y) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  y[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

__global__ void shuffle(int* y) {
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  int* const mine = y + threadIdx.x * 8;
  mine[0] = __shfl_sync(~0u, lane, 5);
  mine[1] = __shfl_sync(~0u, lane, 1, 8);
  mine[2] = __shfl_xor_sync(~0u, lane, 3);
  mine[3] = __shfl_up_sync(~0u, lane, 2, 16);
  mine[4] = __shfl_down_sync(~0u, lane, 2, 16);
  mine[5] = static_cast<int>(__ballot_sync(~0u, lane < 3 ? 1 : 0));
  mine[6] = __any_sync(~0u, lane == 31 ? 1 : 0);
  mine[7] = __all_sync(~0u, lane != 31 ? 1 : 0);
}

__global__ void vote(int* y) {
  const int first = __syncthreads_count(threadIdx.x < 40 ? 1 : 0);
  const int second = __syncthreads_or(0);
  const int third = __syncthreads_count(threadIdx.x < 50 ? 1 : 0);
  const int fourth = __syncthreads_or(threadIdx.x == 63 ? 1 : 0);
  if (threadIdx.x == 0) {
    y[0] = first;
    y[1] = second;
    y[2] = third;
    y[3] = fourth;
  }
}

__global__ void count(int* y) {
  atomicAdd(&y[0], 2);
  atomicMax(&y[1], static_cast<int>(threadIdx.x));
  atomicCAS(&y[2], 0, 7);
  atomicExch(&y[3], 9);
}

__global__ void nothing() {}

void launch_too_wide() { launch(nothing, 4, 2048, 16); }

/// Runs `test` in each order of threads.
template <class F>
void in_each_order(F test) {
  using cuda_emulator::Order;
  for (const Order order : {Order::ascending, Order::descending, Order::random}) {
    cuda_emulator::settings.order = order;
    test();
  }
  cuda_emulator::settings.order = Order::ascending;
}

}  // namespace

TEST_CASE("Threads of all blocks see their indices") {
  in_each_order([] {
    const std::size_t blocks = 2 * 3 * 2, threads = 5 * 4 * 3;
    std::vector<unsigned> y(blocks * threads);
    launch(write_indices, dim3(2, 3, 2), dim3(5, 4, 3), 0, y.data());
    for (unsigned i = 0; i < y.size(); ++i) CHECK(y[i] == i / threads * 1000 + i % threads);
  });
}

TEST_CASE("Warp operations exchange what CUDA says") {
  in_each_order([] {
    std::vector<int> y(64 * 8);
    launch(shuffle, 1, 64, 0, y.data());
    for (int t = 0; t < 64; ++t) {
      const int lane = t % 32;
      const std::vector<int> expected{
          5, lane / 8 * 8 + 1, lane ^ 3, lane % 16 >= 2 ? lane - 2 : lane, lane % 16 < 14 ? lane + 2 : lane, 7, 1, 0};
      CHECK(std::vector<int>(y.begin() + t * 8, y.begin() + t * 8 + 8) == expected);
    }
  });
}

TEST_CASE("Votes at barriers count each barrier alone") {
  in_each_order([] {
    std::vector<int> y(4);
    launch(vote, 1, 64, 0, y.data());
    CHECK(y == std::vector<int>{40, 0, 50, 1});
  });
}

TEST_CASE("Atomics") {
  in_each_order([] {
    std::vector<int> y(4);
    launch(count, 3, 64, 0, y.data());
    CHECK(y == std::vector<int>{3 * 64 * 2, 63, 7, 9});
  });
}

TEST_CASE("A launch beyond the device's limits names caller, sizes and error") {
  CHECK_THROWS_AS(launch_too_wide(), llm::CudaError);
  CHECK_THROWS_WITH(launch_too_wide(), Contains("launch of launch_too_wide with grid 4 x 1 x 1, block 2048 x 1 x 1, 16 bytes") &&
                                           Contains("cudaErrorInvalidConfiguration"));
  CHECK_THROWS_AS(launch(nothing, 0u, 32, 0), llm::CudaError);
  CHECK_THROWS_AS(launch(nothing, 1, 32, 48 * 1024 + 1), llm::CudaError);
  CHECK_NOTHROW(launch(nothing, 1, 1024, 48 * 1024));
}

TEST_CASE("A wrong architecture is named with the device's, the program's and the variable to set [cuda_arch]") {
  cuda_emulator::provoked_error = cudaErrorNoKernelImageForDevice;
  CHECK_THROWS_WITH(launch(nothing, 1, 32, 0), Contains("cudaErrorNoKernelImageForDevice") && Contains("compute capability 7.5") &&
                                                   Contains("built for 8.0, 9.0") && Contains("CMAKE_CUDA_ARCHITECTURES"));
  CHECK_NOTHROW(launch(nothing, 1, 32, 0));
}

TEST_CASE("Failed allocations and copies say what they were, and do not fail the next launch") {
  cuda_emulator::provoked_error = cudaErrorMemoryAllocation;
  CHECK_THROWS_WITH(llm::CudaMemory::allocate(100), Contains("cudaMalloc of 100 bytes: cudaErrorMemoryAllocation"));
  CHECK_NOTHROW(launch(nothing, 1, 32, 0));
  int from = 1, to = 0;
  cuda_emulator::provoked_error = cudaErrorNoDevice;
  CHECK_THROWS_WITH(llm::CudaMemory::copy_to_host(&to, &from, sizeof(int)), Contains("cudaMemcpy of 4 bytes to host: cudaErrorNoDevice"));
  CHECK_NOTHROW(launch(nothing, 1, 32, 0));
}
