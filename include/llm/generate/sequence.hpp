// One sequence while it is generated: its tokens, how the next one is drawn, and why it ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/generate/logprobs.hpp>
#include <llm/generate/options.hpp>

namespace llm::detail {

/// A token that was proposed for the next place, drawn with the given probabilities; with none it was certain.
struct Proposal {
  std::int32_t token;
  std::span<const float> probabilities = {};
};

/// The prompt and the tokens drawn so far. All memory is allocated by the constructor.
class Sequence {
 public:
  /// `stream` selects the random numbers. Throws ValueError or ShapeError when the prompt or an option is wrong.
  Sequence(std::span<const std::int32_t> prompt, const GenerateOptions& options, std::int64_t vocab_size, const Room& room,
           std::uint64_t stream)
      : prompt_(prompt.size()),
        limit_(check_request(prompt, options, vocab_size, room)),
        drawable_(drawable_ids(options, vocab_size)),
        stop_tokens_(options.stop.token_ids),
        hook_(options.logits_hook),
        sampler_(options.sampling(), drawable_),
        logprobs_(options.logprobs) {
    sampler_.restore({options.seed, stream, 0});
    if (hook_) hooked_.resize(static_cast<std::size_t>(drawable_));
    tokens_.reserve(prompt_ + static_cast<std::size_t>(limit_));
    tokens_.assign(prompt.begin(), prompt.end());
    finish_when_full();
  }

  /// Draws the next token from the logits [V] that follow the last one, and appends it or, if it is a stop token, finishes. Returns it. A
  /// proposal is taken as often as the distribution allows. A call that throws changes nothing. Throws as Sampler::sample, and what the
  /// hook throws.
  std::int32_t extend(std::span<const float> logits, const Proposal* proposal = nullptr) {
    const auto own = logits.first(static_cast<std::size_t>(drawable_));
    const auto scores = after_hook(own);
    const std::int32_t next = proposal == nullptr || proposal->probabilities.empty()
                                  ? sampler_.sample(scores, tokens_)
                                  : sampler_.sample_near(scores, tokens_, proposal->token, proposal->probabilities);
    logprobs_.update(own, next);
    if (std::find(stop_tokens_.begin(), stop_tokens_.end(), next) != stop_tokens_.end()) {
      reason_ = FinishReason::stop_token;
    } else {
      tokens_.push_back(next);
      finish_when_full();
    }
    return next;
  }

  bool finished() const { return reason_ != FinishReason::none; }
  FinishReason finish_reason() const { return reason_; }
  std::size_t prompt_size() const { return prompt_; }
  std::int64_t drawable() const { return drawable_; }
  const Logprobs& logprobs() const { return logprobs_.values(); }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  std::vector<std::int32_t> take() && { return std::move(tokens_); }
  /// Positions that the whole of it can take.
  std::int64_t longest() const { return static_cast<std::int64_t>(prompt_) + limit_; }

 private:
  std::span<const float> after_hook(std::span<const float> logits) {
    if (!hook_) return logits;
    warp::check_logits(logits);
    std::copy(logits.begin(), logits.end(), hooked_.begin());
    hook_(hooked_, tokens_);
    if (std::all_of(hooked_.begin(), hooked_.end(), [](float logit) { return logit == warp::removed; }))
      throw NumericError(concat("llm::generate: logits_hook left no token after ", tokens_.size(), ": all logits are -inf"));
    return hooked_;
  }
  void finish_when_full() {
    if (static_cast<std::int64_t>(tokens_.size()) == longest()) reason_ = FinishReason::length;
  }

  std::size_t prompt_;
  std::int64_t limit_;
  std::int64_t drawable_;
  std::vector<std::int32_t> stop_tokens_;
  LogitsHook hook_;
  std::vector<float> hooked_;  // the logits that the hook changes
  Sampler sampler_;
  LogprobsOfStep logprobs_;
  std::vector<std::int32_t> tokens_;
  FinishReason reason_ = FinishReason::none;
};

/// Rows of a model's logits [rows, V], or of another tensor, as floats on the host. Its memory is allocated by the constructor.
template <class Logits>
class HostLogits {
 public:
  using T = typename Logits::value_type;

  explicit HostLogits(std::int64_t vocab_size) : values_(static_cast<std::size_t>(vocab_size)) {
    if constexpr (!std::is_same_v<T, float>) stored_.resize(values_.size());
  }

  /// Row `row`; valid until the next call.
  std::span<const float> read(const Logits& logits, std::int64_t row) {
    const auto size = static_cast<std::int64_t>(values_.size());
    const T* const from = logits.data() + row * size;
    if constexpr (std::is_same_v<T, float>) {
      Logits::backend_type::memory::copy_to_host(values_.data(), from, values_.size() * sizeof(T));
    } else {
      Logits::backend_type::memory::copy_to_host(stored_.data(), from, values_.size() * sizeof(T));
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(stored_[i]);
    }
    return values_;
  }

 private:
  std::vector<float> values_;
  std::vector<T> stored_;  // unused when T is float
};

}  // namespace llm::detail
