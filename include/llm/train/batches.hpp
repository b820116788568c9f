// Batches of token windows as tensors: what a training or validation loop visits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <llm/data/random_windows.hpp>
#include <llm/data/sequential_windows.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// inputs [B, T] and targets [B, T], aligned: targets[b, t] follows inputs[b, t] in the text.
template <class Backend>
struct TensorBatch {
  Tensor<Token, Shape<dyn, dyn>, Backend> inputs, targets;
};

/// The batches of Windows (RandomWindows or SequentialWindows) as tensors on a backend, in the same order. A batch stays valid
/// while somebody holds its tensors. After the first batches nothing is allocated: memory comes back from the pool.
template <class Windows, class Backend>
class TensorBatches {
 public:
  explicit TensorBatches(Windows windows) : windows_(std::move(windows)) {}

  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = TensorBatch<Backend>;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    const value_type& operator*() const { return batches_->batch_; }
    const value_type* operator->() const { return &batches_->batch_; }
    iterator& operator++() {
      ++inner_;
      load();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t end) { return at.inner_ == end; }

   private:
    friend class TensorBatches;
    explicit iterator(TensorBatches& batches) : batches_(&batches), inner_(batches.windows_.begin()) { load(); }
    void load() {
      if (inner_ != std::default_sentinel) batches_->load(*inner_);
    }

    TensorBatches* batches_ = nullptr;
    typename Windows::iterator inner_;
  };

  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

  /// The step of the batch being visited; see RandomWindows.
  std::int64_t step() const { return windows_.step(); }
  /// Where to go on, for a checkpoint; see RandomWindows.
  const auto& state() const { return windows_.state(); }
  /// Continues from a saved position; see RandomWindows.
  void restore(const RandomWindows::State& state) { windows_.restore(state); }
  /// Targets in all of a text visited in order; see SequentialWindows.
  std::int64_t target_count() const { return windows_.target_count(); }

 private:
  void load(const Batch& from) {
    using Ids = Tensor<Token, Shape<dyn, dyn>, Backend>;
    batch_ = {};  // first gives its memory back, so that the new batch can have it
    batch_.inputs = Ids::from(from.inputs, {from.batch, from.length});
    batch_.targets = Ids::from(from.targets, {from.batch, from.length});
  }

  Windows windows_;
  TensorBatch<Backend> batch_;
};

namespace detail {

template <class Tokens>
inline constexpr bool are_tokens = std::is_convertible_v<std::remove_reference_t<Tokens>&, std::span<const Token>>;
/// Token ids that are no temporary vector.
template <class Tokens>
inline constexpr bool lasting_tokens = are_tokens<Tokens> && !std::is_same_v<Tokens, std::vector<Token>>;

}  // namespace detail

/// Training batches at random places of `tokens`, which must outlive them:
/// `random_windows(tokens, {.batch = 16, .length = 64, .steps = 300, .seed = 2})`. See RandomWindows for the order and the errors.
template <class Backend = Cpu>
TensorBatches<RandomWindows, Backend> random_windows(std::span<const Token> tokens, const RandomWindowsOptions& options) {
  return TensorBatches<RandomWindows, Backend>(RandomWindows(tokens, options));
}
/// A temporary vector, or anything that is no token ids.
template <class Backend = Cpu, class Tokens>
requires(!detail::lasting_tokens<Tokens>) TensorBatches<RandomWindows, Backend> random_windows(Tokens&&,
                                                                                               const RandomWindowsOptions& options) {
  static_assert(
      detail::are_tokens<Tokens>,
      "llm::random_windows(tokens, options): tokens must be llm::Token, one after another in memory (hint: a tokenizer's encode(text))");
  if constexpr (detail::are_tokens<Tokens>)
    static_assert(
        detail::lasting_tokens<Tokens>,
        "llm::random_windows(tokens, options): the tokens are a temporary, which is gone before the first batch (hint: keep them in "
        "a variable)");
  return TensorBatches<RandomWindows, Backend>(RandomWindows(std::span<const Token>(), options));
}

/// Validation batches that visit `tokens`, which must outlive them, from the beginning to the end:
/// `sequential_windows(tokens, {.batch = 16, .length = 64})`. See SequentialWindows.
template <class Backend = Cpu>
TensorBatches<SequentialWindows, Backend> sequential_windows(std::span<const Token> tokens, const SequentialWindowsOptions& options) {
  return TensorBatches<SequentialWindows, Backend>(SequentialWindows(tokens, options));
}
/// A temporary vector, or anything that is no token ids.
template <class Backend = Cpu, class Tokens>
requires(!detail::lasting_tokens<Tokens>)
    TensorBatches<SequentialWindows, Backend> sequential_windows(Tokens&&, const SequentialWindowsOptions& options) {
  static_assert(detail::are_tokens<Tokens>,
                "llm::sequential_windows(tokens, options): tokens must be llm::Token, one after another in memory (hint: a tokenizer's "
                "encode(text))");
  if constexpr (detail::are_tokens<Tokens>)
    static_assert(
        detail::lasting_tokens<Tokens>,
        "llm::sequential_windows(tokens, options): the tokens are a temporary, which is gone before the first batch (hint: keep them in "
        "a variable)");
  return TensorBatches<SequentialWindows, Backend>(SequentialWindows(std::span<const Token>(), options));
}

}  // namespace llm
