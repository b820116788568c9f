// Validation batches: a text from its beginning to its end, every token predicted once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/core/shape.hpp>
#include <llm/data/batch.hpp>

namespace llm {

struct SequentialWindowsOptions {
  std::int64_t batch = 16;   ///< windows in a batch, at most
  std::int64_t length = 64;  ///< tokens in a window, at most
};

/// A range of batches of windows that follow one another. Every token but the first is a target exactly once: the last batch of
/// whole windows may have fewer rows, and what is left then comes as one shorter window. A mean over the text weighs each
/// batch by its targets. Each loop begins at the first token.
class SequentialWindows {
 public:
  /// The tokens must outlive the range. Throws ShapeError when they are fewer than 2, ValueError for options out of range.
  SequentialWindows(std::span<const std::int32_t> tokens, const SequentialWindowsOptions& options) : tokens_(tokens), options_(options) {
    if (options.batch < 1 || options.length < 1)
      throw ValueError(
          detail::concat("llm::sequential_windows: batch ", options.batch, " and length ", options.length, " must be positive"));
    detail::checked_product(options.batch, options.length);
    if (tokens.size() < 2)
      throw ShapeError(detail::concat("llm::sequential_windows: a window and its target need 2 tokens, the text has ", tokens.size()));
  }
  SequentialWindows(std::vector<std::int32_t>&& tokens, const SequentialWindowsOptions& options) = delete;

  using iterator = BatchIterator<SequentialWindows>;

  iterator begin() {
    next_ = 0;
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// Targets in all.
  std::int64_t target_count() const { return static_cast<std::int64_t>(tokens_.size()) - 1; }

 private:
  friend iterator;

  bool advance() {
    const std::int64_t left = target_count() - next_;
    if (left == 0) return false;
    const std::int64_t length = (std::min)(left, options_.length);
    const std::int64_t rows = (std::min)(left / length, options_.batch);
    batch_.resize(rows, length);
    for (std::int64_t row = 0; row < rows; ++row) batch_.set_row(row, tokens_, next_ + row * length);
    next_ += rows * length;
    return true;
  }

  std::span<const std::int32_t> tokens_;
  SequentialWindowsOptions options_;
  std::int64_t next_ = 0;
  Batch batch_;
};

}  // namespace llm
