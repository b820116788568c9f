// How product kernels are given their operands: blocks, views, and what to fetch next.
#pragma once

#include <cstdint>

#include <llm/detail/platform.hpp>

namespace llm::cpu {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

/// n things in blocks of at most `most`, whose sizes differ by at most one: no thin rest.
struct EvenBlocks {
  std::int64_t count, least, larger;

  EvenBlocks(std::int64_t n, std::int64_t most) : EvenBlocks(ceil_div(n, most), n, 0) {}
  /// The same in a given number of blocks.
  static EvenBlocks of(std::int64_t count, std::int64_t n) { return {count, n, 0}; }

  std::int64_t first(std::int64_t block) const { return block * least + (block < larger ? block : larger); }
  std::int64_t size(std::int64_t block) const { return least + (block < larger); }

 private:
  EvenBlocks(std::int64_t blocks, std::int64_t n, int) : count(blocks), least(blocks == 0 ? 0 : n / blocks), larger(n - least * blocks) {}
};

/// The left operand as product kernels read it: element (i, k) of row block b stands at at(b, first)[i * row_stride + k * depth_stride],
/// where k counts units of depth. Either rows of one matrix, or (block_stride > 0) each block by itself.
template <class P>
struct LeftView {
  const P* data;
  std::int64_t row_stride, depth_stride, block_stride;

  const P* at(std::int64_t block, std::int64_t first) const {
    return data + (block_stride > 0 ? block * block_stride : first * row_stride);
  }
};

/// Lines of memory that will be read next, fetched a few at a time while a product runs.
class Ahead {
 public:
  Ahead() = default;
  /// `rows` rows of `bytes` bytes, `stride` bytes apart.
  Ahead(const void* data, std::int64_t rows, std::int64_t bytes, std::int64_t stride)
      : row_(static_cast<const char*>(data)), rows_(rows), bytes_(bytes), stride_(stride) {}

  /// Lines in all, about.
  std::int64_t lines() const { return rows_ * (bytes_ / line + 1); }
  LLM_ALWAYS_INLINE void fetch(std::int64_t lines) {
    for (; lines > 0 && rows_ > 0; --lines) {
      detail::prefetch(row_ + at_);
      at_ += line;
      if (at_ < bytes_) continue;
      at_ = 0;
      row_ += stride_;
      --rows_;
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  const char* row_ = nullptr;
  std::int64_t rows_ = 0, bytes_ = 0, stride_ = 0, at_ = 0;
};

}  // namespace llm::cpu
