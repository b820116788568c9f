// The generation loop: tokens that follow a prompt, one at a time, as a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <llm/generate/sequence.hpp>
#include <llm/generate/session.hpp>

namespace llm {

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

template <class Session>
Room room_of(const Session& session) {
  return {session.capacity(), "the session's capacity", "make a larger session"};
}

/// The room of a model.
template <class Model>
Room whole_context() {
  return {Model::config.max_seq_len, "max_seq_len", "raise Config::max_seq_len"};
}

/// What a stream keeps of a drafter: the drafts of the last pass, and what that pass read.
template <class Drafter>
struct Drafting {
  std::optional<typename Drafter::Run> run = {};
  Draft draft = {};
  std::vector<Token> pass = {};
  SpeculationCounts counts = {};
};
template <>
struct Drafting<NoDrafter> {};

/// What a stream keeps of hidden states: those of the pass that gave the current token, and the place there.
template <class Model>
class HiddenOfStep {
 public:
  HiddenOfStep(const std::vector<std::int64_t>& layers, std::int64_t) {
    if (!layers.empty()) throw ValueError("llm::generate: hidden_layers needs a model that gives hidden states, as llm::LLM does");
  }
  HiddenOf<Model>* next_pass() { return nullptr; }
  void drawn_from(std::int64_t) {}
  std::span<const float> read(std::size_t) { throw ValueError("llm::TokenStream::hidden_state: not asked for"); }
};
template <gives_hidden_states Model>
class HiddenOfStep<Model> {
 public:
  HiddenOfStep(const std::vector<std::int64_t>& layers, std::int64_t width) : host_(layers.empty() ? 0 : width) {
    for (const std::int64_t layer : layers)
      if (layer < 0 || layer >= Model::hidden_count)
        throw ValueError(concat("llm::generate: hidden_layers has ", layer, ", expected 0 to ", Model::hidden_count - 1));
    pass_.layers = next_.layers = layers;
  }
  /// For the states of a pass whose tokens are still to be drawn.
  HiddenOf<Model>* next_pass() {
    fresh_ = true;
    return &next_;
  }
  /// A token was drawn, so many rows from the end of the last pass.
  void drawn_from(std::int64_t from_end) {
    if (fresh_) std::swap(pass_, next_);
    fresh_ = false;
    from_end_ = from_end;
  }
  std::span<const float> read(std::size_t i) {
    if (i >= pass_.states.size())
      throw ValueError(
          concat("llm::TokenStream::hidden_state: number ", i, " of ", pass_.states.size(), " (hint: {.hidden_layers = {0}})"));
    return host_.read(pass_.states[i], pass_.states[i].extent(1) - from_end_);
  }

 private:
  typename Model::HiddenStates pass_{}, next_{};
  bool fresh_ = false;  // whether next_ is of a later pass
  HostLogits<typename Model::Hidden> host_;
  std::int64_t from_end_ = 1;
};
template <class Model>
constexpr std::int64_t width_of() {
  if constexpr (gives_hidden_states<Model>)
    return Model::D;
  else
    return 0;
}

}  // namespace detail

/// The tokens that follow a prompt, as an input range; made by llm::generate. The constructor checks the whole request and, without a
/// caller's session, allocates one; prefill() or begin() runs the prompt through the model and draws the first token; each ++ draws one
/// more, which allocates nothing after the first few. A stop token ends the range and is not part of it. After the end the session holds
/// the sequence, but for its last token when the length ended it, which was not read. A step that throws leaves the stream as it was, and
/// the session with what it had in common. The model, or a caller's session, must outlive the stream.
template <class Session>
class TokenStream {
  using Model = typename Session::model_type;
  using Drafter = typename Session::drafter_type;

 public:
  static constexpr bool drafts = !std::is_same_v<Drafter, NoDrafter>;
  using model_type = Model;
  using value_type = Token;
  using iterator = detail::StreamIterator<TokenStream>;

  /// Continues the prompt in a session of its own, without a drafter. Throws ShapeError or ValueError.
  TokenStream(const Model& model, std::span<const Token> prompt, const GenerateOptions& options) requires(!drafts)
      : sequence_(prompt, options, Model::V, detail::whole_context<Model>(), options.stream),
        host_(Model::V),
        hidden_(options.hidden_layers, detail::width_of<Model>()) {
    own_.emplace(model, sequence_.longest());
  }
  /// Continues the prompt in a caller's session. Throws ShapeError or ValueError.
  TokenStream(Session& session, std::span<const Token> prompt, const GenerateOptions& options)
      : sequence_(prompt, options, Model::V, detail::room_of(session), options.stream),
        host_(Model::V),
        hidden_(options.hidden_layers, detail::width_of<Model>()),
        callers_(&session) {
    if constexpr (drafts) drafting_.run.emplace(session.drafter().start(options, sequence_.drawable()));
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
  const std::vector<Token>& sequence() const { return sequence_.tokens(); }
  std::size_t prompt_size() const { return sequence_.prompt_size(); }
  FinishReason finish_reason() const { return sequence_.finish_reason(); }
  /// How many tokens of the prompt were not computed, since the session held them; known after prefill().
  std::int64_t reused() const { return reused_; }
  /// Of the token drawn last, a stop token too. Throws ValueError unless GenerateOptions::logprobs asked for it.
  const Logprobs& logprobs() const { return sequence_.logprobs(); }
  /// The hidden state [D] of GenerateOptions::hidden_layers[i] at the position whose logits the last token was drawn from; valid until the
  /// next call. Those of a whole prompt: LLM::hidden_states. Throws ValueError unless it was asked for and a token was drawn.
  std::span<const float> hidden_state(std::size_t i) { return hidden_.read(i); }
  /// How much drafting helped so far, where the session has a drafter.
  const SpeculationCounts& speculation() const requires(drafts) { return drafting_.counts; }

  /// Cuts off what the session holds of drafts that are no part of the sequence. Done at the end of the range; for one that ends sooner.
  void drop_drafts() {
    if constexpr (drafts) session().keep_common(sequence_.tokens());
  }

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
  Session& session() { return callers_ ? *callers_ : *own_; }

  /// Draws one token, after a pass unless the last one has given its logits already.
  void step() {
    if (row_ < rows_) return draw();
    pass();
    try {
      draw();
    } catch (...) {
      rows_ = row_ = 0;
      session().truncate(kept_);
      throw;
    }
  }

  /// Runs what the session does not hold, the prompt or the last token, and what is drafted after it.
  void pass() {
    const std::span<const Token> tokens = sequence_.tokens();
    kept_ = session().keep_prefix(tokens);
    if (!started_) reused_ = kept_;
    const auto fresh = tokens.subspan(static_cast<std::size_t>(kept_));
    if constexpr (drafts) {
      logits_ = propose(fresh) ? session().logits(drafting_.pass, hidden_.next_pass()) : session().last_logits(fresh, hidden_.next_pass());
      ++drafting_.counts.passes;
      drafting_.counts.drafted += static_cast<std::int64_t>(drafting_.draft.tokens.size());
    } else {
      logits_ = session().last_logits(fresh, hidden_.next_pass());
    }
    rows_ = logits_.extent(0);
    row_ = 0;
  }

  /// Drafts what may follow the last token, unless more than that is to be read; false when there is nothing.
  bool propose(std::span<const Token> fresh) {
    drafting_.draft = {};
    const std::int64_t room = sequence_.longest() - static_cast<std::int64_t>(sequence_.tokens().size()) - 1;  // the last needs no draft
    if (fresh.size() > 1 || room < 1) return false;
    drafting_.draft = session().drafter().draft(*drafting_.run, sequence_.tokens(), room);
    drafting_.pass.assign(fresh.begin(), fresh.end());
    drafting_.pass.insert(drafting_.pass.end(), drafting_.draft.tokens.begin(), drafting_.draft.tokens.end());
    return !drafting_.draft.tokens.empty();
  }

  void draw() {
    const auto logits = host_.read(logits_, row_);
    const std::int64_t from_end = rows_ - row_;
    if constexpr (drafts) {
      const auto at = static_cast<std::size_t>(row_);
      if (at < drafting_.draft.tokens.size()) {
        const auto [tokens, probabilities] = drafting_.draft;
        const std::size_t ids = probabilities.size() / tokens.size();
        const detail::Proposal proposal{tokens[at], probabilities.subspan(at * ids, ids)};
        const bool accepted = sequence_.extend(logits, &proposal) == proposal.token;
        hidden_.drawn_from(from_end);
        drafting_.counts.accepted += accepted ? 1 : 0;
        row_ = accepted ? row_ + 1 : rows_;  // what follows a rejected token is of no use
        if (!accepted || sequence_.finished()) drop_drafts();
        return;
      }
    }
    sequence_.extend(logits);
    hidden_.drawn_from(from_end);
    ++row_;
  }

  detail::Sequence sequence_;
  detail::HostLogits<typename Model::LastLogits> host_;
  detail::HiddenOfStep<Model> hidden_;
  std::optional<Session> own_;
  Session* callers_ = nullptr;
  [[no_unique_address]] detail::Drafting<Drafter> drafting_;
  typename Model::LastLogits logits_;  // of the last pass
  std::int64_t rows_ = 0, row_ = 0;    // of logits_, and which is next
  std::int64_t kept_ = 0, reused_ = 0;
  bool started_ = false, done_ = false;
};

}  // namespace llm
