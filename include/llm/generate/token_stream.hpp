// The generation loop: tokens that follow a prompt, one at a time, as a range.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <llm/generate/sequence.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// What can be generated from: LLM, and any type with the same members. last_logits(ids [B, T], cache, first_row) appends the ids to
/// the cache's rows and returns the logits [B, V] that follow them, or throws and leaves the cache as it was.
template <class M>
concept CausalModel = requires(const M& model, const typename M::Ids& ids, typename M::Cache& cache) {
  { M::V } -> std::convertible_to<std::int64_t>;
  {M::config.max_seq_len};
  typename M::LastLogits;
  { model.last_logits(ids, cache, std::int64_t{}) } -> std::convertible_to<typename M::LastLogits>;
};

namespace detail {

/// The iterator of a stream with current(), advance() and done(): reads once, forwards.
template <class Stream>
class StreamIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = typename Stream::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  StreamIterator() = default;
  explicit StreamIterator(Stream& stream) : stream_(&stream) {}

  value_type operator*() const { return stream_->current(); }
  StreamIterator& operator++() {
    stream_->advance();
    return *this;
  }
  void operator++(int) { stream_->advance(); }
  friend bool operator==(const StreamIterator& it, std::default_sentinel_t) { return it.stream_->done(); }

 private:
  Stream* stream_ = nullptr;
};

/// The room of a caller's cache, which must have one row.
template <class Cache>
Room room_of(const Cache& cache) {
  if (cache.batch() != 1) throw ShapeError(concat("llm::generate: the cache has ", cache.batch(), " rows, expected 1"));
  return {cache.length(0), cache.capacity(), "the cache's capacity", "allocate a larger cache, or reset it"};
}
template <class Model>
Room empty_room() {
  return {0, Model::config.max_seq_len, "max_seq_len", "raise Config::max_seq_len"};
}

}  // namespace detail

/// The tokens that follow a prompt, as an input range of Token; made by llm::generate. The constructor checks the request and, without a
/// caller's cache, allocates one; prefill() or begin() runs the prompt through the model and draws the first token; each ++ runs
/// one decode step, which allocates nothing after the first. A stop token ends the range and is not part of it. A step that throws
/// leaves the stream and the cache as they were before it. The model, and a caller's cache, must outlive the stream.
template <CausalModel Model, class Cache = typename Model::Cache>
class TokenStream {
 public:
  using value_type = Token;
  using iterator = detail::StreamIterator<TokenStream>;

  /// Continues the prompt in a cache of its own. Throws ShapeError or ValueError.
  TokenStream(const Model& model, std::span<const value_type> prompt, const GenerateOptions& options)
      : TokenStream(model, prompt, options, detail::empty_room<Model>()) {
    own_cache_.emplace(1, sequence_.longest());
  }
  /// Continues what a caller's cache holds with the prompt. Throws ShapeError or ValueError.
  TokenStream(const Model& model, Cache& cache, std::span<const value_type> prompt, const GenerateOptions& options)
      : TokenStream(model, prompt, options, detail::room_of(cache)) {
    callers_cache_ = &cache;
  }

  /// Where the stream stands; the first call runs prefill().
  iterator begin() {
    prefill();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// Runs the prompt and draws the first token, if that has not been done.
  void prefill() {
    if (!started_) advance();
  }

  /// The prompt and the tokens drawn so far.
  const std::vector<value_type>& sequence() const { return sequence_.tokens(); }
  std::size_t prompt_size() const { return sequence_.prompt_size(); }
  FinishReason finish_reason() const { return sequence_.finish_reason(); }
  /// The end of sequence() that the cache does not hold: usually the token drawn last. A next turn in the same cache begins with it.
  std::span<const value_type> uncached() const { return std::span(sequence_.tokens()).subspan(cached_); }

  // For the iterator.
  value_type current() const { return sequence_.tokens().back(); }
  bool done() const { return done_; }
  void advance() {
    if (!sequence_.finished()) {
      const std::size_t before = sequence_.tokens().size();
      step();
      done_ = sequence_.tokens().size() == before;
    } else {
      done_ = true;
    }
    started_ = true;
  }

 private:
  using Ids = typename Model::Ids;

  TokenStream(const Model& model, std::span<const value_type> prompt, const GenerateOptions& options, const detail::Room& room)
      : model_(&model), sequence_(prompt, options, Model::V, room, options.stream), logits_(Model::V) {}

  Cache& cache() { return callers_cache_ ? *callers_cache_ : *own_cache_; }

  /// Runs what is not cached yet, the prompt or one token, and draws the next.
  void step() {
    const auto fresh = uncached();
    const auto count = static_cast<std::int64_t>(fresh.size());
    if (ids_.numel() != count) ids_ = Ids::empty({1, count});
    ids_.assign(fresh);
    const std::int64_t length = cache().length(0);
    try {
      sequence_.extend(logits_.read(model_->last_logits(ids_, cache(), 0), 0));
    } catch (...) {
      cache().truncate(0, length);
      throw;
    }
    cached_ += fresh.size();
  }

  const Model* model_;
  detail::Sequence sequence_;
  detail::HostLogits<typename Model::LastLogits> logits_;
  std::optional<Cache> own_cache_;
  Cache* callers_cache_ = nullptr;
  Ids ids_;                 // of the step
  std::size_t cached_ = 0;  // tokens of the sequence that the cache holds
  bool started_ = false, done_ = false;
};

}  // namespace llm
