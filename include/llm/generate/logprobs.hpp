// Log-probabilities of a drawn token and of the most probable ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/warp.hpp>

namespace llm {

/// A token and the natural logarithm of its probability.
struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// What the model itself thought of the token drawn last: its distribution over the ids that can be drawn, before the hook, the repetition
/// penalty, the temperature and all selection. `top` has the most probable first, the lower id among equals.
struct Logprobs {
  TokenLogprob drawn = {};
  std::vector<TokenLogprob> top = {};
};

namespace detail {

/// Fills Logprobs, when they were asked for. All memory is allocated by the constructor.
class LogprobsOfStep {
 public:
  explicit LogprobsOfStep(std::optional<std::int64_t> count) : wanted_(count.has_value()) {
    if (wanted_) values_.top.resize(static_cast<std::size_t>(*count));
  }

  /// From checked logits.
  void update(std::span<const float> logits, std::int32_t drawn) {
    if (!wanted_) return;
    select(logits);
    const float largest = warp::max_score(logits);
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit) - static_cast<double>(largest));
    const double shift = static_cast<double>(largest) + std::log(total);
    const auto logprob = [&](std::int32_t id) {
      return TokenLogprob{id, static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(id)]) - shift)};
    };
    values_.drawn = logprob(drawn);
    for (TokenLogprob& entry : values_.top) entry = logprob(entry.id);
  }

  const Logprobs& values() const {
    if (!wanted_) throw ValueError("llm::TokenStream::logprobs: not asked for (hint: {.logprobs = 0})");
    return values_;
  }

 private:
  /// The ids of the largest logits, in order.
  void select(std::span<const float> logits) {
    auto& top = values_.top;
    if (top.empty()) return;
    const auto before = [](const TokenLogprob& a, const TokenLogprob& b) { return a.logprob > b.logprob; };  // ids come in order
    std::size_t count = 0;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      const TokenLogprob entry{static_cast<std::int32_t>(id), logits[id]};
      if (count == top.size() && !before(entry, top.back())) continue;
      if (count < top.size()) ++count;
      const auto end = top.begin() + static_cast<std::ptrdiff_t>(count) - 1, at = std::upper_bound(top.begin(), end, entry, before);
      std::move_backward(at, end, end + 1);
      *at = entry;
    }
  }

  bool wanted_;
  Logprobs values_;
};

}  // namespace detail
}  // namespace llm
