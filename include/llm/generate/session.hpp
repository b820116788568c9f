// A session: what a model has read, kept so that a prompt that begins the same is not computed twice.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/draft.hpp>
#include <llm/generate/read_prompt.hpp>
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
template <class Model>
concept gives_hidden_states = requires {
  typename Model::HiddenStates;
};
struct NoHiddenStates {};
template <class Model>
struct HiddenStatesOf : std::type_identity<NoHiddenStates> {};
template <gives_hidden_states Model>
struct HiddenStatesOf<Model> : std::type_identity<typename Model::HiddenStates> {};
template <class Model>
using HiddenOf = typename HiddenStatesOf<Model>::type;
}  // namespace detail

/// Positions for which a session of more than twice as many takes memory at first. When they are full, it takes twice as much, and copies.
inline constexpr std::int64_t positions_at_first = 512;

/// A model with a cache of one row and the tokens that it holds: `llm::Session session(model); llm::generate(session, prompt, ...)`. The
/// prompt is the whole text each time; of what the session holds it keeps the longest common beginning and computes the rest. With a
/// drafter, `Session session(model, PromptLookup{})` or `DraftModel(small)`, several tokens are verified in one pass; when a stream is left
/// before its end, what was drafted may still stand behind its text, until keep_common(stream.sequence()) or the next stream.
/// Tokens do not depend on what was kept, but for rounding: a prompt read in other pieces has logits that are equal to its last bits.
/// The model must outlive the session. Move-only.
template <CausalModel Model, class Drafter = NoDrafter, class Cache = typename Model::Cache>
class Session {
 public:
  using model_type = Model;
  using drafter_type = Drafter;
  using LastLogits = typename Model::LastLogits;

  /// Room for `capacity` positions, at most max_seq_len. A long context takes memory as it is used: see positions_at_first. Throws
  /// ShapeError.
  explicit Session(const Model& model, std::int64_t capacity = Model::config.max_seq_len) : Session(model, Drafter(), capacity) {}
  Session(const Model& model, Drafter drafter, std::int64_t capacity = Model::config.max_seq_len)
      : model_(&model), capacity_(capacity), cache_(1, at_first(capacity)), drafter_(std::move(drafter)) {
    static_assert(DrafterFor<Drafter, Model>,
                  "llm::Session(model, drafter): the drafter must be llm::PromptLookup or llm::DraftModel(small)");
    tokens_.reserve(static_cast<std::size_t>(cache_.capacity()));
  }
  explicit Session(const Model&&, std::int64_t = 0) = delete;  // it would be gone before the first token
  Session(const Model&&, Drafter, std::int64_t = 0) = delete;

  const Model& model() const { return *model_; }
  Drafter& drafter() { return drafter_; }
  std::int64_t capacity() const { return capacity_; }
  /// The tokens that are not computed again.
  std::span<const Token> tokens() const { return tokens_; }
  std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }

  /// Keeps the first `length` tokens. Throws ValueError when there are fewer.
  void truncate(std::int64_t length) {
    cache_.truncate(0, length);
    tokens_.resize(static_cast<std::size_t>(length));
  }
  /// Keeps the longest beginning that it has in common with `text`. Returns its length.
  std::int64_t keep_common(std::span<const Token> text) {
    const std::int64_t kept = std::mismatch(text.begin(), text.end(), tokens_.begin(), tokens_.end()).first - text.begin();
    truncate(kept);
    return kept;
  }
  /// The same, but for the prompt's last token, whose logits are wanted.
  std::int64_t keep_prefix(std::span<const Token> prompt) { return keep_common(prompt.first(prompt.empty() ? 0 : prompt.size() - 1)); }

  /// Reads more tokens, many in pieces (see positions_at_once); the logits [1, V] that follow the last. What throws leaves the session as
  /// it was. `hidden`: states of all of them, which one pass then reads.
  LastLogits last_logits(std::span<const Token> more, detail::HiddenOf<Model>* hidden = nullptr) {
    if constexpr (detail::gives_hidden_states<Model>)
      if (hidden != nullptr && !hidden->layers.empty())
        return reading(more, [&] { return model_->last_logits(ids_of(more), cache_, 0, hidden); });
    return reading(more, [&] { return detail::read_prompt(*model_, more, cache_, 0); });
  }
  /// The same in one pass, with the logits [count, V] that follow each.
  LastLogits logits(std::span<const Token> more, detail::HiddenOf<Model>* hidden = nullptr) {
    using Rows = typename LastLogits::shape_type;
    const Rows rows(static_cast<std::int64_t>(more.size()));
    return reading(more, [&] {
      if constexpr (detail::gives_hidden_states<Model>)
        if (hidden != nullptr && !hidden->layers.empty()) return (*model_)(ids_of(more), cache_, 0, hidden).view(rows);
      return (*model_)(ids_of(more), cache_, 0).view(rows);
    });
  }

  /// What a session holds, apart from it: the tokens, and their keys and values.
  struct Saved {
    std::vector<Token> tokens;
    typename Cache::Row cached;
  };
  Saved save() const { return {tokens_, cache_.save(0)}; }
  /// Goes on from what a session of the same model held. Throws ShapeError when it is longer than the capacity.
  void restore(const Saved& saved) {
    make_room(0, saved.cached.length());
    cache_.restore(0, saved.cached);
    tokens_ = saved.tokens;
  }

 private:
  static auto ids_of(std::span<const Token> tokens) { return Model::Ids::from(tokens, {1, static_cast<std::int64_t>(tokens.size())}); }
  /// The cache's first capacity.
  static std::int64_t at_first(std::int64_t capacity) {
    return capacity <= 2 * positions_at_first || capacity > Model::config.max_seq_len ? capacity : positions_at_first;
  }
  /// For `more` positions behind the first `start`: a cache that is too small becomes twice as large or more.
  void make_room(std::int64_t start, std::int64_t more) {
    Cache::require_room(start, more, capacity_);
    if (start + more <= cache_.capacity()) return;
    std::int64_t room = (std::max)(2 * cache_.capacity(), start + more + positions_at_first);
    if (room + room / 2 >= capacity_) room = capacity_;  // to grow once more would take as much while it copies
    tokens_.reserve(static_cast<std::size_t>(room));
    cache_.grow(room);
  }
  template <class Read>
  LastLogits reading(std::span<const Token> more, const Read& read) {
    make_room(length(), static_cast<std::int64_t>(more.size()));
    LastLogits out = read();
    tokens_.insert(tokens_.end(), more.begin(), more.end());  // within the reserved room
    return out;
  }

  const Model* model_;
  std::int64_t capacity_;
  Cache cache_;  // of that capacity at last
  Drafter drafter_;
  std::vector<Token> tokens_;
};

template <class Model, std::integral Capacity>
Session(const Model&, Capacity) -> Session<Model>;

namespace detail {
template <class T>
inline constexpr bool is_session = false;
template <class Model, class Drafter, class Cache>
inline constexpr bool is_session<Session<Model, Drafter, Cache>> = true;
}  // namespace detail

}  // namespace llm
