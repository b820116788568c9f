// Generation for several prompts of uneven lengths at once, each ending by itself and making room for the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <llm/generate/read_prompt.hpp>
#include <llm/generate/sequence.hpp>
#include <llm/generate/session.hpp>
#include <llm/generate/token_stream.hpp>

namespace llm {

/// How large a PromptBatch is.
struct PromptBatchOptions {
  std::int64_t rows =
      8;  ///< prompts computed at a time; with up to 8 each has the bits that it has alone, with more it is equal to rounding
  std::int64_t capacity = 0;  ///< positions of a row, allocated at once: much for a long context; 0: max_seq_len
};

/// Prompts that are continued together, as a range of the tokens drawn: `for (const auto [prompt, token] : batch)`. add() may be called at
/// any time, in the loop too; a prompt waits for a free row. Each gives the tokens that it gives alone. What a prompt has in
/// common with one that still stands in a row is copied, not computed: one prompt added n times is read once. A part of a prompt is copied
/// when it is 16 tokens or more without those that it leaves so that 9 are computed; a mixture of experts copies whole prompts alone. The
/// portable kernels (LLM_ISA=portable) give a prompt that was copied in part the tokens that it has alone to rounding. What throws can be
/// tried again, or the prompt cancelled. The model must outlive the batch. Move-only.
template <CausalModel Model, class Cache = typename Model::Cache>
class PromptBatch {
 public:
  /// A token, and the number that add() gave its prompt.
  struct value_type {
    std::size_t prompt;
    Token token;
  };
  using iterator = detail::StreamIterator<PromptBatch>;

  /// Throws ShapeError for a number of rows or a capacity that cannot be.
  explicit PromptBatch(const Model& model, const PromptBatchOptions& options = {})
      : model_(&model),
        cache_(options.rows, options.capacity == 0 ? std::int64_t{Model::config.max_seq_len} : options.capacity),
        host_(Model::V),
        rows_(static_cast<std::size_t>(options.rows)) {
    due_.reserve(rows_.size());
    last_.reserve(rows_.size());
  }
  explicit PromptBatch(const Model&&, const PromptBatchOptions& = {}) = delete;  // it would be gone before the first token

  /// Puts a prompt at the end of those that wait; returns its number: 0, 1, 2, ... Throws as generate does.
  std::size_t add(std::span<const Token> prompt, const GenerateOptions& options = {}) {
    const std::int64_t limit = detail::check_request(prompt, options, Model::V, room());
    if (!options.hidden_layers.empty())
      throw ValueError("llm::PromptBatch: hidden_layers is for one prompt at a time, as in llm::generate");
    const std::size_t number = requests_.size();
    requests_.push_back({std::make_unique<Held>(Held{{prompt.begin(), prompt.end()}, options})});
    if (limit > 0)
      waiting_.push_back(number);
    else
      settle(number, FinishReason::length);
    return number;
  }

  /// Where the batch stands; the first call, and one after all have ended, goes on to the next token.
  iterator begin() {
    if (done_) advance();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// The prompt and the tokens drawn so far. The reference is valid until the batch goes on or the prompt is taken.
  const std::vector<Token>& sequence(std::size_t prompt) const {
    const Held& held = checked(prompt);
    return held.running ? held.running->tokens() : held.tokens;
  }
  /// The same, moved out; all that the batch held for the prompt is given back, but for the reason why it ended.
  std::vector<Token> take(std::size_t prompt) {
    Held& held = checked(prompt);
    if (requests_[prompt].reason == FinishReason::none || held.running)
      throw ValueError(detail::concat("llm::PromptBatch::take: prompt ", prompt, " has not ended"));
    std::vector<Token> tokens = std::move(held.tokens);
    requests_[prompt].held.reset();
    return tokens;
  }
  FinishReason finish_reason(std::size_t prompt) const { return added(prompt).reason; }
  /// Of the token drawn last, a stop token too. Throws ValueError unless GenerateOptions::logprobs asked for it. Valid as sequence().
  const Logprobs& logprobs(std::size_t prompt) const {
    const Held& held = checked(prompt);
    if (held.logprobs) return *held.logprobs;
    if (!held.running) throw ValueError("llm::PromptBatch::logprobs: not asked for (hint: {.logprobs = 0}), or nothing was drawn");
    return held.running->logprobs();
  }
  /// Ends a prompt as it stands, whether it waits or runs; in its own logits_hook, after the token that is being drawn. One that has ended
  /// stays as it is.
  void cancel(std::size_t prompt) {
    if (added(prompt).reason == FinishReason::none) settle(prompt, FinishReason::cancelled);
    std::erase(waiting_, prompt);
  }
  /// Tokens of prompts that were copied from another row, in all.
  std::int64_t reused() const { return reused_; }

  // For the iterator.
  value_type current() const { return current_; }
  bool done() const { return done_; }
  void advance() {
    for (done_ = true; done_;) {
      if (next_due_ == due_.size() && !pass()) return;
      while (done_ && next_due_ < due_.size()) draw(due_[next_due_]);
    }
  }

 private:
  using Ids = typename Model::Ids;
  using LastLogits = typename Model::LastLogits;

  /// A pass of more tokens than products of few rows take has bits that do not depend on where it begins, unless experts share them out.
  static constexpr std::int64_t least_pass = 9, worth_copying = 16;
  static constexpr bool copies_parts() {
    if constexpr (requires { Model::config.has_experts(); })
      return !Model::config.has_experts();
    else
      return true;
  }

  struct Held {
    std::vector<Token> tokens;  // the prompt, until it runs; all, when it has ended
    GenerateOptions options;    // until it has ended
    std::unique_ptr<detail::Sequence> running = {};
    std::optional<Logprobs> logprobs = {};  // when it has ended
  };
  struct Request {
    std::unique_ptr<Held> held;  // until it is taken
    FinishReason reason = FinishReason::none;
  };
  struct Row {
    std::size_t request = 0;
    std::vector<Token> prompt = {};  // which the cache's row begins with, also when the request has ended
    LastLogits logits = {};          // that follow the prompt
  };

  detail::Room room() const {
    if (cache_.capacity() == Model::config.max_seq_len) return detail::whole_context<Model>();
    return {cache_.capacity(), "the batch's capacity", "make a batch of larger capacity"};
  }
  const Request& added(std::size_t prompt) const {
    if (prompt >= requests_.size())
      throw ValueError(detail::concat("llm::PromptBatch: prompt ", prompt, " is none of the ", requests_.size(), " that were added"));
    return requests_[prompt];
  }
  Held& checked(std::size_t prompt) const {
    Held* const held = added(prompt).held.get();
    if (held == nullptr) throw ValueError(detail::concat("llm::PromptBatch: prompt ", prompt, " was taken"));
    return *held;
  }
  /// The sequence that runs in a row; null when it has ended.
  detail::Sequence* running(std::size_t row) const {
    const Held* const held = requests_[rows_[row].request].held.get();
    return held == nullptr ? nullptr : held->running.get();
  }
  bool runs(std::size_t row) const { return running(row) != nullptr; }

  /// Computes the next logits of some rows, which are then due: of new ones if there are any, else of all. False when there is nothing to
  /// do.
  bool pass() {
    due_.clear();
    next_due_ = 0;
    from_prompts_ = true;
    fill_rows();
    if (!due_.empty()) return true;
    from_prompts_ = false;
    if (used_ == 0) return false;
    last_.clear();
    for (std::size_t row = 0; row < used_; ++row) last_.push_back(running(row)->tokens().back());
    logits_ = model_->last_logits(Ids::from(last_, {static_cast<std::int64_t>(used_), 1}), cache_, 0);  // [used, V]
    for (std::size_t row = 0; row < used_; ++row) due_.push_back(row);
    return true;
  }

  /// Gives free rows to prompts that wait, and closes the gaps that are left: the rows in use are [0, used_).
  void fill_rows() {
    for (std::size_t row = 0; row < rows_.size() && !waiting_.empty(); ++row)
      if (row >= used_ || !runs(row)) start(row);
    for (std::size_t row = 0; row < used_;) {
      if (runs(row)) {
        ++row;
      } else if (--used_ != row && runs(used_)) {
        cache_.copy_row(index(used_), index(row), cache_.length(index(used_)));
        rows_[row] = std::exchange(rows_[used_], Row{});
      }
    }
  }

  /// Reads the prompt that has waited longest into a row.
  void start(std::size_t row) {
    Held& request = *requests_[waiting_.front()].held;
    auto sequence =
        std::make_unique<detail::Sequence>(request.tokens, request.options, std::int64_t{Model::V}, room(), request.options.stream);
    Row next{waiting_.front(), request.tokens, {}};
    const auto size = static_cast<std::int64_t>(next.prompt.size());
    const auto [donor, common] = best_donor(next.prompt);
    const bool whole = common == size && donor->prompt.size() == next.prompt.size();
    const std::int64_t kept = whole ? size : common - (std::max)(std::int64_t{0}, least_pass - (size - common));
    const bool copies = whole || (copies_parts() && kept >= worth_copying);
    if (copies) {
      cache_.copy_row(donor - rows_.data(), index(row), kept);
      if (whole) next.logits = donor->logits;
    } else {
      cache_.truncate(index(row), 0);
    }
    rows_[row].prompt.clear();  // until it has been read, the row gives nothing
    if (!whole) {
      const auto rest = std::span<const Token>(next.prompt).subspan(static_cast<std::size_t>(copies ? kept : 0));
      next.logits = detail::read_prompt(*model_, rest, cache_, index(row));
    }
    reused_ += copies ? kept : 0;
    rows_[row] = std::move(next);
    request.running = std::move(sequence);
    waiting_.pop_front();
    used_ = (std::max)(used_, row + 1);
    due_.push_back(row);
  }

  /// The row whose prompt begins with the most of this one.
  std::pair<const Row*, std::int64_t> best_donor(std::span<const Token> prompt) const {
    std::pair<const Row*, std::int64_t> best{rows_.data(), 0};
    for (const Row& row : rows_) {
      const auto end = std::mismatch(prompt.begin(), prompt.end(), row.prompt.begin(), row.prompt.end()).first;
      const bool same = end == prompt.end() && row.prompt.size() == prompt.size();
      if (end - prompt.begin() > best.second || same) best = {&row, end - prompt.begin()};
    }
    return best;
  }

  /// Draws the next token of a row, which becomes the current one unless it is a stop token.
  void draw(std::size_t row) {
    if (detail::Sequence* const sequence = running(row)) {  // not cancelled meanwhile
      const std::size_t prompt = rows_[row].request, before = sequence->tokens().size();
      drawing_ = prompt;
      try {
        sequence->extend(from_prompts_ ? host_.read(rows_[row].logits, 0) : host_.read(logits_, index(row)));
      } catch (...) {
        drawn(prompt, FinishReason::none);
        throw;
      }
      if (sequence->tokens().size() > before) {
        current_ = {prompt, sequence->tokens().back()};
        done_ = false;
      }
      drawn(prompt, sequence->finish_reason());
    }
    ++next_due_;
  }

  /// The hook of a sequence may cancel it, which then ends here.
  void drawn(std::size_t prompt, FinishReason reason) {
    drawing_.reset();
    if (requests_[prompt].reason != FinishReason::none) reason = requests_[prompt].reason;
    if (reason != FinishReason::none) settle(prompt, reason);
  }

  void settle(std::size_t prompt, FinishReason reason) {
    requests_[prompt].reason = reason;
    if (drawing_ == prompt) return;
    Held& held = *requests_[prompt].held;
    if (held.running) {
      if (held.options.logprobs) held.logprobs = held.running->logprobs();
      held.tokens = std::move(*held.running).take();
      held.running.reset();
    }
    held.options = {};
  }

  static std::int64_t index(std::size_t row) { return static_cast<std::int64_t>(row); }

  const Model* model_;
  Cache cache_;
  detail::HostLogits<LastLogits> host_;
  std::vector<Request> requests_;
  std::optional<std::size_t> drawing_;  // the prompt whose token is being drawn
  std::deque<std::size_t> waiting_;
  std::vector<Row> rows_;
  std::size_t used_ = 0;          // rows that run, but for those that have just ended
  LastLogits logits_;             // of the last pass over all
  std::vector<std::size_t> due_;  // rows whose logits are there, in the order in which they are drawn
  std::size_t next_due_ = 0;
  bool from_prompts_ = false;  // whether those are each row's own
  std::vector<Token> last_;
  value_type current_{};
  std::int64_t reused_ = 0;
  bool done_ = true;
};

/// Continues each prompt and returns them with their new tokens, `rows` of them at a time; see PromptBatch. Row i draws the random numbers
/// of stream options.stream + i and calls a copy of the logits_hook of its own, and gives the tokens that generate_tokens gives for that
/// prompt and stream alone, as PromptBatch says. max_new_tokens holds for each. Throws as generate does, before any computation, when one
/// of the prompts is wrong.
template <CausalModel Model>
std::vector<std::vector<Token>> generate_batch(const Model& model, std::span<const std::vector<Token>> prompts,
                                               GenerateOptions options = {}, std::int64_t rows = PromptBatchOptions{}.rows) {
  if (rows < 1) throw ValueError(detail::concat("llm::generate_batch: rows is ", rows, ", expected 1 or more"));
  if (prompts.empty()) return {};
  std::int64_t longest = 0;
  for (const auto& prompt : prompts) {
    const std::int64_t limit = detail::check_request(prompt, options, Model::V, detail::whole_context<Model>());
    longest = (std::max)(longest, static_cast<std::int64_t>(prompt.size()) + limit);
  }
  PromptBatch<Model> batch(model, {.rows = (std::min)(rows, static_cast<std::int64_t>(prompts.size())), .capacity = longest});
  for (const auto& prompt : prompts) {
    batch.add(prompt, options);
    ++options.stream;
  }
  for (auto it = batch.begin(); it != batch.end(); ++it) {
  }
  std::vector<std::vector<Token>> out;
  for (std::size_t i = 0; i < prompts.size(); ++i) out.push_back(batch.take(i));
  return out;
}

}  // namespace llm
