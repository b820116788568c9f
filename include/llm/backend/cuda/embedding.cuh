// Kernels of the embedding, forward and backward, and the functions that start them. Index is int32_t or int64_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/rows.cuh>
#include <llm/backend/cuda/sort.cuh>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// Row i of y [n, D] is row ids[i] of table [V, D], one block a row at a time. D % Width == 0.
template <class T, int Width, class Index>
static __global__ void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
  using P = Pack<T, Width>;
  for (std::int64_t row = blockIdx.x; row < n; row += gridDim.x) {
    const P* const in = reinterpret_cast<const P*>(table + ids[row] * D);  // [D / Width]
    P* const out = reinterpret_cast<P*>(y + row * D);                      // [D / Width]
    for (std::int64_t i = threadIdx.x; i < D / Width; i += blockDim.x) out[i] = in[i];
  }
}

/// dtable [V, D] += the rows of dy [n, D], each in the row of its id. A block of 32 x lanes threads has 32 Width columns of one place in
/// the sorted keys [n]; where an id begins it adds up all rows of that id, which no other block touches. Shared memory: Width C a thread.
template <class T, int Width>
static __global__ void embedding_backward(const std::uint64_t* keys, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t D) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  constexpr unsigned columns = 32 * Width;
  C* const sums = dynamic_shared<C>();  // [lanes, columns]
  const std::int64_t first = blockIdx.x, id = id_of_key(keys[first]);
  if (first > 0 && id_of_key(keys[first - 1]) == id) return;
  const std::int64_t packs = D / Width, pack = std::int64_t{blockIdx.y} * 32 + threadIdx.x;
  Pack<C, Width> sum{};
  for (std::int64_t place = first + threadIdx.y; place < n && id_of_key(keys[place]) == id; place += blockDim.y) {
    if (pack >= packs) break;
    const P d = reinterpret_cast<const P*>(dy + position_of_key(keys[place]) * D)[pack];
    for (int j = 0; j < Width; ++j) sum.values[j] += static_cast<C>(d.values[j]);
  }
  for (unsigned j = 0; j < Width; ++j) sums[threadIdx.y * columns + threadIdx.x * Width + j] = sum.values[j];
  __syncthreads();
  for (unsigned c = threadIdx.y * 32 + threadIdx.x; c < columns; c += 32 * blockDim.y) {
    const std::int64_t column = std::int64_t{blockIdx.y} * columns + c;
    if (column >= D) continue;
    C total = dtable[id * D + column];
    for (unsigned lane = 0; lane < blockDim.y; ++lane) total += sums[lane * columns + c];
    dtable[id * D + column] = total;
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// y [n, D] = rows of table [V, D]: row i of y is row ids[i].
template <class T, class Index>
void embedding_forward(const Index* ids, const T* table, T* y, std::int64_t n, std::int64_t D) {
  const bool wide = device::accessible_wide<T>(D, table, y);
  const auto kernel = wide ? device::embedding_forward<T, device::full_width<T>, Index> : device::embedding_forward<T, 1, Index>;
  device::launch_rows<T>(kernel, {n, D, wide}, ids, table, y, n, D);
}

/// dtable [V, D] += dy [n, D]: row i of dy is added to row ids[i], in an order that depends on the ids alone. V is at most 2^32, n at most
/// 2^31 - 1.
template <class T, class Index>
void embedding_backward(const Index* ids, const T* dy, compute_t<T>* dtable, std::int64_t n, std::int64_t /*V*/, std::int64_t D) {
  if (n == 0 || D == 0) return;
  const device::SortedIds sorted(ids, n);
  constexpr int lanes = 4;
  const bool wide = device::accessible_wide<T>(D, dy);
  const int columns = 32 * (wide ? device::full_width<T> : 1);
  const auto kernel = wide ? device::embedding_backward<T, device::full_width<T>> : device::embedding_backward<T, 1>;
  const dim3 blocks(static_cast<unsigned>(n), static_cast<unsigned>((D + columns - 1) / columns));
  device::launch(kernel, blocks, dim3(32, lanes), static_cast<std::size_t>(lanes * columns) * sizeof(compute_t<T>), sorted.keys(), dy,
                 dtable, n, D);
}

}  // namespace llm::cuda
