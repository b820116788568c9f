// What kernels over rows share: the sizes of their launches, and sums over all rows, such as the gradient of a gain.
//
// A sum over rows is made in two steps: each block has rows of its own and writes their sum, its part, to memory; a second kernel adds the
// parts. How many blocks there are depends on the rows alone, so that the sums are the same on every device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/scratch.cuh>
#include <llm/core/dtype.hpp>

namespace llm::device {

inline constexpr std::int64_t most_row_blocks = 2048;
inline constexpr std::int64_t most_parts = 512;
inline constexpr std::size_t most_shared_bytes = 48 * 1024;

/// Shared memory of a kernel that takes block_sum of C.
template <class C>
inline constexpr std::size_t scratch_bytes = 32 * sizeof(C);

/// Rows [rows, cols] that a kernel takes, 16 bytes at a time if `wide`, and the function that starts it, for the error message.
struct Rows {
  std::int64_t rows, cols;
  bool wide;
  const char* caller;
  Rows(std::int64_t rows_, std::int64_t cols_, bool wide_, const char* caller_ = __builtin_FUNCTION())
      : rows(rows_), cols(cols_), wide(wide_), caller(caller_) {}

  bool empty() const { return rows == 0 || cols == 0; }

  /// Whole warps for one row of T, 256 threads at most.
  template <class T>
  unsigned threads() const {
    const std::int64_t packs = wide ? cols / full_width<T> : cols;
    return static_cast<unsigned>(std::clamp((packs + 31) / 32 * 32, std::int64_t{32}, std::int64_t{256}));
  }
};

/// Starts a kernel whose blocks take one row at a time, with scratch for block_sum of compute_t<T>. Nothing happens when there are no rows.
template <class T, class... P>
void launch_rows(void (*kernel)(P...), const Rows& rows, std::type_identity_t<P>... arguments) {
  if (rows.rows == 0) return;
  const auto blocks = static_cast<unsigned>((std::min)(rows.rows, most_row_blocks));
  launch(kernel, {blocks, rows.caller}, rows.threads<T>(), scratch_bytes<compute_t<T>>, arguments...);
}

/// total [cols] = the sum of parts [count, cols] over the parts, in a fixed order. A block of 32 x lanes threads has 32 columns.
/// Shared memory: one C a thread.
template <class C>
static __global__ void sum_of_parts(const C* parts, C* total, std::int64_t count, std::int64_t cols, bool add) {
  C* const sums = dynamic_shared<C>();  // [lanes, 32]
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + threadIdx.x;
  C sum = 0;
  if (column < cols)
    for (std::int64_t part = threadIdx.y; part < count; part += blockDim.y) sum += parts[part * cols + column];
  sums[threadIdx.y * 32 + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= cols) return;
  C value = add ? total[column] : C{0};
  for (unsigned lane = 0; lane < blockDim.y; ++lane) value += sums[lane * 32 + threadIdx.x];
  total[column] = value;
}

/// Memory for `count` sums over rows [rows, cols]: a part [cols] of each for each block of the kernel that makes them.
template <class C>
class PartialSums {
 public:
  PartialSums(std::int64_t count, const Rows& rows)
      : count_(count), rows_(rows), blocks_((std::min)(rows.rows, most_parts)), parts_(count * blocks_ * rows.cols) {}

  /// Where the parts [blocks, cols] of sum number `which` go.
  C* data(std::int64_t which) const { return parts_.data() + which * blocks_ * rows_.cols; }
  /// Whether a block has room for one part of each sum in shared memory, behind the scratch.
  bool in_shared() const { return scratch_bytes<C> + bytes(count_) <= most_shared_bytes; }

  /// Starts the kernel that makes the parts, on rows of T. Nothing happens when there are no elements.
  template <class T, class... P>
  void launch_parts(void (*kernel)(P...), std::type_identity_t<P>... arguments) const {
    if (rows_.empty()) return;
    launch(kernel, {static_cast<unsigned>(blocks_), rows_.caller}, rows_.threads<T>(), scratch_bytes<C> + (in_shared() ? bytes(count_) : 0),
           arguments...);
  }

  /// result [cols] = sum number `which`, or its addition to what is there.
  void total(std::int64_t which, C* result, bool add) const {
    if (rows_.cols == 0) return;
    launch(sum_of_parts<C>, {static_cast<unsigned>((rows_.cols + 31) / 32), rows_.caller}, dim3(32, 8), 256 * sizeof(C), data(which),
           result, blocks_, rows_.cols, add);
  }

 private:
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(rows * rows_.cols) * sizeof(C); }
  std::int64_t count_;
  Rows rows_;
  std::int64_t blocks_;
  Scratch<C> parts_;
};

}  // namespace llm::device
