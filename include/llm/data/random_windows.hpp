// Training batches: windows at random places of a text, reproducible from a seed and a step number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/core/rng.hpp>
#include <llm/core/shape.hpp>
#include <llm/data/batch.hpp>

namespace llm {

struct RandomWindowsOptions {
  std::int64_t batch = 16;   ///< windows in a batch
  std::int64_t length = 64;  ///< tokens in a window
  std::int64_t steps = 300;  ///< batches in all, counted from step 0
  std::uint64_t seed = 0;
};

/// A range of `steps` batches: `for (const auto& batch : batches)`. Each window begins at any of the tokens.size() - length places
/// that have a whole window and its last target, with equal probability. The batch of a step depends on the tokens, the
/// options and the step alone, never on what was visited before. After the first batch nothing is allocated.
class RandomWindows {
 public:
  /// The whole position, for a checkpoint.
  struct State {
    std::uint64_t seed = 0;
    std::int64_t step = 0;  ///< of the next batch
    friend bool operator==(const State&, const State&) = default;
  };

  /// The tokens must outlive the range. Throws ShapeError when they are fewer than length + 1, ValueError for options out of range.
  RandomWindows(std::span<const std::int32_t> tokens, const RandomWindowsOptions& options) : tokens_(tokens), options_(options) {
    if (options.batch < 1 || options.length < 1 || options.steps < 0)
      throw ValueError(detail::concat("llm::random_windows: batch ", options.batch, " and length ", options.length,
                                      " must be positive, steps ", options.steps, " not negative"));
    detail::checked_product(options.batch, options.length);
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (count <= options.length)
      throw ShapeError(detail::concat("llm::random_windows: windows of ", options.length, " tokens and a target need ", options.length,
                                      " + 1 tokens, the text has ", count));
    state_.seed = options.seed;
  }
  RandomWindows(std::vector<std::int32_t>&& tokens, const RandomWindowsOptions& options) = delete;

  using iterator = BatchIterator<RandomWindows>;

  /// Visits the batch of state().step first: step 0, or where a loop was left, or what was restored.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

  /// The step of the batch being visited, or after the loop of the last one; before the first, of the one to come.
  std::int64_t step() const { return step_; }

  /// Where to go on: the batch being visited counts as used, so a checkpoint saved after its optimizer step resumes with the next.
  const State& state() const { return state_; }

  /// Continues from a saved position; its seed replaces the options'. Throws ValueError when the step is negative.
  void restore(const State& state) {
    if (state.step < 0) throw ValueError(detail::concat("llm::RandomWindows::restore: step ", state.step, " is negative"));
    state_ = state;
    step_ = state.step;
  }

 private:
  friend iterator;

  /// Loads the next batch; false when there is none.
  bool advance() {
    if (state_.step >= options_.steps) return false;
    constexpr std::uint64_t stream_of_windows = std::uint64_t{0x57494E} << 40;  // apart from other users of the same seed
    Rng rng(state_.seed, stream_of_windows + static_cast<std::uint64_t>(state_.step));
    batch_.resize(options_.batch, options_.length);
    const std::uint64_t starts = tokens_.size() - static_cast<std::size_t>(options_.length);
    for (std::int64_t row = 0; row < options_.batch; ++row) batch_.set_row(row, tokens_, static_cast<std::int64_t>(rng.below(starts)));
    step_ = state_.step++;
    return true;
  }

  std::span<const std::int32_t> tokens_;
  RandomWindowsOptions options_;
  State state_;
  std::int64_t step_ = 0;
  Batch batch_;
};

}  // namespace llm
