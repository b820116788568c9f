// A batch of token windows, as plain vectors, and the iterator of what gives batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace llm {

/// `batch` windows of `length` tokens, row-major: inputs [batch, length] and targets [batch, length], aligned: targets[i] is the token
/// that follows inputs[i] in the text.
struct Batch {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;

  /// Sets the sizes; allocates only when the batch grows beyond what it has been.
  void resize(std::int64_t rows, std::int64_t columns) {
    batch = rows;
    length = columns;
    inputs.resize(static_cast<std::size_t>(rows * columns));
    targets.resize(static_cast<std::size_t>(rows * columns));
  }

  /// Fills one row with the window of `tokens` that begins at `start`; start + length must be a token.
  void set_row(std::int64_t row, std::span<const std::int32_t> tokens, std::int64_t start) {
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(row * length + i);
      inputs[at] = tokens[static_cast<std::size_t>(start + i)];
      targets[at] = tokens[static_cast<std::size_t>(start + i + 1)];
    }
  }
};

/// The iterator of a range of batches, made by its begin(). Windows has a batch_ and advance(), which loads the next one into it and is
/// false when there is none.
template <class Windows>
class BatchIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  BatchIterator() = default;
  explicit BatchIterator(Windows& windows) : windows_(&windows), at_end_(!windows.advance()) {}

  const Batch& operator*() const { return windows_->batch_; }
  const Batch* operator->() const { return &windows_->batch_; }
  BatchIterator& operator++() {
    at_end_ = !windows_->advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const BatchIterator& at, std::default_sentinel_t) { return at.at_end_; }

 private:
  Windows* windows_ = nullptr;
  bool at_end_ = true;
};

}  // namespace llm
