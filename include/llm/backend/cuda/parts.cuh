// Lists of arrays that one launch goes over, such as a model's gradients or parameters: each is cut into chunks, which blocks take in turn.
// The chunks depend on the arrays alone, so that sums over them are the same on every device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/memory.hpp>
#include <llm/backend/cuda/scratch.cuh>

namespace llm::device {

inline constexpr std::int64_t chunk_elements = 16 * 1024;
inline constexpr std::int64_t most_chunk_blocks = 1024;
inline constexpr unsigned chunk_threads = 256;

/// What a kernel gets of a list of parts, each a struct with n elements. Before part i lie begins[i] chunks, in all begins[count].
template <class Part>
struct PartList {
  const Part* parts = nullptr;
  const std::int64_t* begins = nullptr;  // [count + 1]
  std::int64_t count = 0;
};

/// Elements [first, first + n) of a part.
template <class Part>
struct Chunk {
  Part part;
  std::int64_t first = 0;
  std::int64_t n = 0;
};

template <class Part>
static __device__ Chunk<Part> chunk_of(const PartList<Part>& list, std::int64_t chunk) {
  std::int64_t low = 0, high = list.count;  // the last part that begins at the chunk or before it
  while (high - low > 1) {
    const std::int64_t half = low + (high - low) / 2;
    if (list.begins[half] <= chunk) {
      low = half;
    } else {
      high = half;
    }
  }
  const Part part = list.parts[low];
  const std::int64_t first = (chunk - list.begins[low]) * chunk_elements;
  return {part, first, part.n - first < chunk_elements ? part.n - first : chunk_elements};
}

/// A list of parts, in device memory while this lives.
template <class Part>
class DeviceParts {
 public:
  DeviceParts(const Part* parts, std::int64_t count) : count_(count) {
    std::vector<std::int64_t> begins{0};
    for (std::int64_t i = 0; i < count; ++i) begins.push_back(begins.back() + (parts[i].n + chunk_elements - 1) / chunk_elements);
    chunks_ = begins.back();
    if (chunks_ == 0) return;
    parts_ = copied(parts, count);
    begins_ = copied(begins.data(), count + 1);
  }

  std::int64_t chunks() const { return chunks_; }
  /// How many blocks take the chunks in turn.
  unsigned blocks() const { return static_cast<unsigned>((std::min)(chunks_, most_chunk_blocks)); }
  PartList<Part> list() const { return {parts_.data(), begins_.data(), count_}; }

 private:
  template <class X>
  static Scratch<X> copied(const X* values, std::int64_t n) {
    Scratch<X> copy(n);
    CudaMemory::copy_from_host(copy.data(), values, static_cast<std::size_t>(n) * sizeof(X));
    return copy;
  }
  std::int64_t count_, chunks_ = 0;
  Scratch<Part> parts_;
  Scratch<std::int64_t> begins_;
};

}  // namespace llm::device
