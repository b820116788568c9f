// Checks of indices that lie in device memory, whose results come to the host. Index is int32_t or int64_t.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/memory.hpp>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/cuda/scratch.cuh>

namespace llm::device {

/// Which of n indices lie in [0, V). With may_ignore those equal to `ignore` are left out.
struct IndexRange {
  std::int64_t V = 0;
  std::int64_t ignore = 0;
  bool may_ignore = false;
};

/// result[0] = how many indices there are that are not left out, result[1] = n - (the position of the first outside the range), 0 when
/// there is none. One block. Shared memory: 32 std::int64_t.
template <class Index>
static __global__ void scan_indices(const Index* indices, std::int64_t n, IndexRange range, std::int64_t* result) {
  std::int64_t* const scratch = dynamic_shared<std::int64_t>();
  std::int64_t count = 0, outside = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const std::int64_t index = indices[i];
    if (range.may_ignore && index == range.ignore) continue;
    ++count;
    if (index < 0 || index >= range.V) outside = Larger{}(outside, n - i);
  }
  count = block_sum(count, scratch);
  outside = block_join(outside, std::int64_t{0}, scratch, Larger{});
  if (threadIdx.x != 0) return;
  result[0] = count;
  result[1] = outside;
}

/// How many indices are not left out, and the position of the first outside the range, or -1. Waits for the device.
struct ScannedIndices {
  std::int64_t count = 0, outside = -1;

  template <class Index>
  ScannedIndices(const Index* indices, std::int64_t n, const IndexRange& range) {
    if (n == 0) return;
    std::int64_t result[2] = {};
    const Scratch<std::int64_t> on_device(2);
    const std::int64_t threads = (std::min)((n + 31) / 32 * 32, std::int64_t{1024});
    launch(scan_indices<Index>, 1u, static_cast<unsigned>(threads), scratch_bytes<std::int64_t>, indices, n, range, on_device.data());
    CudaMemory::copy_to_host(result, on_device.data(), sizeof(result));
    count = result[0];
    if (result[1] > 0) outside = n - result[1];
  }
};

}  // namespace llm::device

namespace llm::cuda {

/// The position of the first id that is not in [0, V), or -1.
template <class Index>
std::int64_t index_outside(const Index* ids, std::int64_t n, std::int64_t V) {
  return device::ScannedIndices(ids, n, {.V = V}).outside;
}

/// How many of n targets are not `ignore`; when one is neither that nor in [0, V), -1 - (the position of the first such).
template <class Index>
std::int64_t count_targets(const Index* targets, std::int64_t n, std::int64_t V, std::int64_t ignore) {
  const device::ScannedIndices scanned(targets, n, {.V = V, .ignore = ignore, .may_ignore = true});
  return scanned.outside >= 0 ? -1 - scanned.outside : scanned.count;
}

}  // namespace llm::cuda
