// Kernels over all parameters of a model at once: the gradients' sum of squares and AdamW. Many of them are small, so that a loop over
// threads for each would cost more than its work.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/elementwise.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// Where the blocks of each of several arrays begin when all are counted through. The list lies in workspace of the calling thread, so it
/// lasts until the end of the loop.
class PartBlocks {
 public:
  template <class Part>
  PartBlocks(const Part* parts, std::int64_t count) : count_(count), first_(workspace<std::int64_t>(Slot::rows, count + 1)) {
    std::int64_t elements = first_[0] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      first_[i + 1] = first_[i] + ceil_div(parts[i].n, elements_per_block);
      elements += parts[i].n;
    }
    blocks_ = first_[count];
    mean_ = blocks_ == 0 ? 0 : elements / blocks_;
  }

  std::int64_t blocks() const { return blocks_; }

  /// f(part, first element, elements, block) for each block; `work` is the cost of one element.
  template <class Part, class F>
  void for_each(const Part* parts, std::int64_t work, const F& f) const {
    parallel_for(blocks(), (std::max)(std::int64_t{1}, mean_ * work), [&](std::int64_t block) {
      const std::int64_t i = std::upper_bound(first_, first_ + count_ + 1, block) - first_ - 1;
      const std::int64_t begin = (block - first_[i]) * elements_per_block;
      f(parts[i], begin, (std::min)(elements_per_block, parts[i].n - begin), block);
    });
  }

 private:
  std::int64_t count_;
  std::int64_t* first_;
  std::int64_t blocks_ = 0, mean_ = 0;
};

template <class T>
double sum_of_squares(const Elements<T>* arrays, std::int64_t count) {
  const PartBlocks blocks(arrays, count);
  double* sums = workspace<double>(Slot::shared, blocks.blocks());
  blocks.for_each(arrays, 1, [&](const Elements<T>& array, std::int64_t i, std::int64_t n, std::int64_t block) {
    with_kernels<T>([&](auto kernels) {
      const Elements<T> some{array.data + i, n};
      sums[block] = kernels.template sum_of_squares<T>(&some, 1);
    });
  });
  return reference::sum(sums, blocks.blocks());  // in the order of the blocks
}

template <class T>
void adamw(const AdamWArgs& args, const AdamWPart<T>* parts, std::int64_t count) {
  PartBlocks(parts, count).for_each(parts, 4, [&](AdamWPart<T> p, std::int64_t i, std::int64_t n, std::int64_t) {
    p.param += i;
    if (p.master != nullptr) p.master += i;
    p.grad += i;
    p.m += i;
    p.v += i;
    p.n = n;
    with_kernels<T>([&](auto kernels) { kernels.template adamw<T>(args, &p, 1); });
  });
}

}  // namespace llm::cpu
