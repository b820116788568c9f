// Positions sorted by their ids, equal ids in the order of their positions, so that what is gathered by id is so in an order that does not
// vary.
#pragma once

#include <cstdint>
#include <utility>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/scratch.cuh>

namespace llm::device {

/// An id and its position in one number, which sorts by id first. Both are less than 2^32.
inline constexpr int position_bits = 32;
[[maybe_unused]] static __device__ std::int64_t id_of_key(std::uint64_t key) { return static_cast<std::int64_t>(key >> position_bits); }
[[maybe_unused]] static __device__ std::int64_t position_of_key(std::uint64_t key) {
  return static_cast<std::int64_t>(key & ((std::uint64_t{1} << position_bits) - 1));
}

/// keys [n]: those of each block's positions, sorted; a key's place is the number of smaller ones. Shared memory: one key a thread.
template <class Index>
static __global__ void sort_in_blocks(const Index* ids, std::uint64_t* keys, std::int64_t n) {
  std::uint64_t* const of_block = dynamic_shared<std::uint64_t>();  // [blockDim.x]
  const std::int64_t i = first_of_grid();
  const std::uint64_t none = ~std::uint64_t{0};  // sorts behind all others
  const std::uint64_t own = i < n ? static_cast<std::uint64_t>(ids[i]) << position_bits | static_cast<std::uint64_t>(i) : none;
  of_block[threadIdx.x] = own;
  __syncthreads();
  if (i >= n) return;
  unsigned place = 0;
  for (unsigned j = 0; j < blockDim.x; ++j) place += of_block[j] < own ? 1u : 0u;
  keys[i - threadIdx.x + place] = own;
}

/// Merges sorted runs of `run` keys, two at a time: a key moves on by as many as are smaller in the other run. No two keys are equal.
[[maybe_unused]] static __global__ void merge_runs(const std::uint64_t* from, std::uint64_t* to, std::int64_t n, std::int64_t run) {
  const std::int64_t i = first_of_grid();
  if (i >= n) return;
  const std::uint64_t own = from[i];
  const std::int64_t pair = i / (2 * run) * (2 * run), middle = pair + run < n ? pair + run : n,
                     end = pair + 2 * run < n ? pair + 2 * run : n;
  const std::int64_t other = i < middle ? middle : pair;  // where the other run begins
  std::int64_t low = other, high = i < middle ? end : middle;
  while (low < high) {
    const std::int64_t half = low + (high - low) / 2;
    if (from[half] < own) {
      low = half + 1;
    } else {
      high = half;
    }
  }
  const std::int64_t smaller_of_own = i < middle ? i - pair : i - middle;
  to[pair + smaller_of_own + (low - other)] = own;
}

/// The sorted keys of n ids of [0, 2^32), in device memory.
class SortedIds {
 public:
  template <class Index>
  SortedIds(const Index* ids, std::int64_t n) {
    if (n == 0) return;
    constexpr std::int64_t block = 256;
    const auto blocks = static_cast<unsigned>((n + block - 1) / block);
    keys_ = Scratch<std::uint64_t>(n);
    launch(sort_in_blocks<Index>, blocks, static_cast<unsigned>(block), block * sizeof(std::uint64_t), ids, keys_.data(), n);
    if (n <= block) return;
    Scratch<std::uint64_t> merged(n);
    for (std::int64_t run = block; run < n; run *= 2) {
      launch(merge_runs, blocks, static_cast<unsigned>(block), 0, keys_.data(), merged.data(), n, run);
      std::swap(keys_, merged);
    }
  }

  const std::uint64_t* keys() const { return keys_.data(); }

 private:
  Scratch<std::uint64_t> keys_;
};

}  // namespace llm::device
