// Sums over whole arrays, in double and in an order that does not depend on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/parts.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/cuda/scratch.cuh>

namespace llm::device {

/// What is summed of each element.
struct Itself {
  __device__ double operator()(double x) const { return x; }
};
struct Square {
  __device__ double operator()(double x) const { return x * x; }
};

/// sums [blocks]: of each block's chunks. Shared memory: 32 double.
template <class T, class Term>
static __global__ void sum_chunks(PartList<Elements<T>> list, std::int64_t chunks, Term term, double* sums) {
  constexpr int width = full_width<T>;
  using P = Pack<T, width>;
  double sum = 0;
  for (std::int64_t i = blockIdx.x; i < chunks; i += gridDim.x) {
    const Chunk<Elements<T>> chunk = chunk_of(list, i);
    const T* const x = chunk.part.data + chunk.first;
    const std::int64_t packs = aligned(x) ? chunk.n / width : 0;
    for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
      const P a = reinterpret_cast<const P*>(x)[p];
      for (int j = 0; j < width; ++j) sum += term(static_cast<double>(a.values[j]));
    }
    for (std::int64_t e = packs * width + threadIdx.x; e < chunk.n; e += blockDim.x) sum += term(static_cast<double>(x[e]));
  }
  sum = block_sum(sum, dynamic_shared<double>());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// The sum of term(x) over all elements x of `count` arrays. Waits for the device.
template <class T, class Term>
double sum_of_terms(const Elements<T>* arrays, std::int64_t count, Term term) {
  const DeviceParts<Elements<T>> parts(arrays, count);
  if (parts.chunks() == 0) return 0;
  std::vector<double> sums(parts.blocks());
  const Scratch<double> on_device(parts.blocks());
  launch(sum_chunks<T, Term>, parts.blocks(), chunk_threads, scratch_bytes<double>, parts.list(), parts.chunks(), term, on_device.data());
  CudaMemory::copy_to_host(sums.data(), on_device.data(), sums.size() * sizeof(double));
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace llm::device

namespace llm::cuda {

/// The sum of n elements. Waits for the device.
template <class T>
double sum(const T* x, std::int64_t n) {
  const Elements<T> all{x, n};
  return device::sum_of_terms(&all, 1, device::Itself{});
}

/// The sum of the squares of all elements of `count` arrays; the list is in host memory. Waits for the device.
template <class T>
double sum_of_squares(const Elements<T>* arrays, std::int64_t count) {
  return device::sum_of_terms(arrays, count, device::Square{});
}

}  // namespace llm::cuda
