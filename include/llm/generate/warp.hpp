// The steps from logits to probabilities, one function each: penalty, temperature, top-k, top-p, min-p, softmax.
#pragma once

#include <llm/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// A warper works in place on `scores` [V], one number a token, and removes a token by setting its score to -inf.
/// All of them require what `check_logits` checks: no NaN, no +inf, at least one finite score; and keep it true. None
/// allocates; those that select take a workspace of V elements. Order and meaning follow the logits processors of
/// Hugging Face transformers.
namespace llm::warp {

/// The score of a removed token.
inline constexpr float removed = -std::numeric_limits<float>::infinity();

/// A token and its weight, exp(score - largest score).
struct Candidate {
  float weight;
  std::int32_t id;
};

namespace detail {

/// Heavier first; among equals the lower id, so the order is total and a selection does not depend on the algorithm.
inline bool heavier(const Candidate& a, const Candidate& b) { return a.weight > b.weight || (a.weight == b.weight && a.id < b.id); }

/// Conversion that keeps finite values finite and leaves -inf alone.
inline float to_finite_float(double value) {
  constexpr double limit = (std::numeric_limits<float>::max)();
  return static_cast<float>(std::clamp(value, -limit, limit));
}

/// exp(x) for x <= 0, to the last place; 0 for -inf. Without branches or calls, so that compilers make vectors of a loop over it: a
/// vocabulary takes a fifth of the time. Source: the polynomial of Cephes' expf.
inline float exp_of_nonpositive(float x) {
  const float bounded = x < -110.0f ? -110.0f : x;
  const auto exponent = static_cast<std::int32_t>(bounded * 1.44269504f - 0.5f), half = exponent / 2;  // 2^exponent may be no float
  const auto n = static_cast<float>(exponent);
  const float r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;  // x - n log 2, |r| <= log(2) / 2
  float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const auto power = [](std::int32_t e) { return std::bit_cast<float>((e + 127) << 23); };
  return (p * (r * r) + r + 1.0f) * power(half) * power(exponent - half);
}

/// The sum of the numbers, some at a time: a single sum would wait for itself at every element.
inline double sum(std::span<const float> values) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += static_cast<double>(values[i + lane]);
  for (; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]);
  double total = 0;
  for (const double part : sums) total += part;
  return total;
}

/// The k-th largest of the scores, 1 <= k <= V. `workspace` holds V numbers. For a small k one pass that keeps the k largest so far.
inline float kth_largest(std::span<const float> scores, std::size_t k, std::span<float> workspace) {
  const auto larger = [](float a, float b) { return a > b; };
  if (k > scores.size() / 16) {
    std::copy(scores.begin(), scores.end(), workspace.begin());
    const auto all = workspace.first(scores.size());
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k - 1), all.end(), larger);
    return all[k - 1];
  }
  const auto best = workspace.first(k);  // a heap, its smallest first
  std::copy(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(k), best.begin());
  std::make_heap(best.begin(), best.end(), larger);
  for (const float score : scores.subspan(k)) {
    if (!(score > best.front())) continue;
    std::pop_heap(best.begin(), best.end(), larger);
    best.back() = score;
    std::push_heap(best.begin(), best.end(), larger);
  }
  return best.front();
}

/// Orders `candidates` so that the smallest set of the heaviest whose weights sum to `mass` comes first; returns its
/// size, at least 1. Expected time is linear: the half that holds the end of the set is halved again.
inline std::size_t select_mass(std::span<Candidate> candidates, double mass) {
  auto first = candidates.begin();
  auto last = candidates.end();
  double above = 0;
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, heavier);
    double sum = above;
    for (auto it = first; it != middle; ++it) sum += static_cast<double>(it->weight);
    if (sum >= mass) {
      last = middle;
    } else {
      above = sum;
      first = middle;
    }
  }
  return static_cast<std::size_t>(last - candidates.begin());
}

}  // namespace detail

/// The largest score; -inf when there is none.
inline float max_score(std::span<const float> scores) {
  constexpr std::size_t lanes = 16;  // independent maxima: a single one would wait for itself at every element
  std::array<float, lanes> best;
  best.fill(removed);
  std::size_t i = 0;
  for (; i + lanes <= scores.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) best[lane] = scores[i + lane] > best[lane] ? scores[i + lane] : best[lane];
  for (; i < scores.size(); ++i) best[0] = (std::max)(best[0], scores[i]);
  return *std::max_element(best.begin(), best.end());
}

/// The token with the largest score, the lowest id among equals.
inline std::int32_t argmax(std::span<const float> scores) {
  const auto at = std::find(scores.begin(), scores.end(), max_score(scores));
  return static_cast<std::int32_t>(at - scores.begin());
}

/// Throws llm::NumericError unless logits [V] can be sampled: no NaN, no +inf, not all -inf (-inf is a masked token).
inline void check_logits(std::span<const float> logits) {
  constexpr float largest = (std::numeric_limits<float>::max)();
  bool bad = false;
  for (const float logit : logits) bad |= !(logit <= largest);
  if (bad) {
    const auto at = std::find_if(logits.begin(), logits.end(), [](float logit) { return !(logit <= largest); });
    throw NumericError(llm::detail::concat("llm::sample: the logit of token ", at - logits.begin(), " is ",
                                           std::isnan(*at) ? "NaN" : "+inf", ", expected a finite number or -inf (a masked token)"));
  }
  if (max_score(logits) == removed)
    throw NumericError(llm::detail::concat("llm::sample: all ", logits.size(), " logits are -inf, expected at least one finite number"));
}

/// Divides the positive scores of tokens in `previous` by `penalty` and multiplies the negative ones by it. `logits`
/// [V] are the scores before, so a token that occurs twice is penalised once. Throws llm::ValueError for an id outside [0, V).
/// Source: arXiv:1909.05858, section 4.1; the sign rule as in transformers.
inline void repetition_penalty(std::span<const float> logits, std::span<const std::int32_t> previous, float penalty,
                               std::span<float> scores) {
  if (penalty == 1.0f) return;
  for (const std::int32_t id : previous) {
    if (id < 0 || static_cast<std::size_t>(id) >= logits.size())
      throw ValueError(llm::detail::concat("llm::sample: previous token id ", id, " is outside the vocabulary of ", logits.size()));
    const double logit = static_cast<double>(logits[static_cast<std::size_t>(id)]);
    if (std::isinf(logit)) continue;
    const double factor = static_cast<double>(penalty);
    scores[static_cast<std::size_t>(id)] = detail::to_finite_float(logit < 0 ? logit * factor : logit / factor);
  }
}

/// Divides by `value` > 0, after moving the largest score to 0: no value is so small that the quotients overflow upwards.
inline void temperature(std::span<float> scores, float value) {
  if (value == 1.0f) return;
  const double largest = static_cast<double>(max_score(scores));
  for (float& score : scores)
    if (score != removed) score = detail::to_finite_float((static_cast<double>(score) - largest) / static_cast<double>(value));
}

/// Keeps the k largest scores and all that equal the k-th. k = 0 and k >= V keep all. `workspace` holds V numbers.
/// Source: arXiv:1805.04833, section 5.4.
inline void top_k(std::span<float> scores, std::int64_t k, std::span<float> workspace) {
  if (k == 0 || k >= static_cast<std::int64_t>(scores.size())) return;
  const float smallest = detail::kth_largest(scores, static_cast<std::size_t>(k), workspace);
  for (float& score : scores) score = score < smallest ? removed : score;
}

/// Keeps the smallest set of the most probable tokens whose probabilities sum to p (nucleus sampling); a sum equal to p
/// is enough. p = 0 keeps the argmax, p = 1 keeps all. `workspace` holds V candidates. Source: arXiv:1904.09751, section 3.1.
inline void top_p(std::span<float> scores, float p, std::span<Candidate> workspace) {
  if (p >= 1.0f) return;
  const float largest = max_score(scores);
  std::size_t count = 0;
  double total = 0;
  std::array<float, 256> weights;
  for (std::size_t begin = 0; begin < scores.size(); begin += weights.size()) {
    const auto some = scores.subspan(begin, (std::min)(weights.size(), scores.size() - begin));
    for (std::size_t i = 0; i < some.size(); ++i) weights[i] = detail::exp_of_nonpositive(some[i] - largest);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (some[i] != removed) workspace[count++] = {weights[i], static_cast<std::int32_t>(begin + i)};
    total += detail::sum(std::span(weights).first(some.size()));
  }
  // Tokens lighter than this sum to less than 1 - p, so they are outside: usually nearly all of the vocabulary.
  const double negligible = (1.0 - static_cast<double>(p)) * total / static_cast<double>(count);
  std::size_t left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Candidate candidate = workspace[i];
    if (static_cast<double>(candidate.weight) < negligible)
      scores[static_cast<std::size_t>(candidate.id)] = removed;
    else
      workspace[left++] = candidate;
  }
  // p and the weights carry float rounding: without the slack, three of ten equal tokens would not reach p = 0.3f.
  constexpr double slack = 4 * std::numeric_limits<float>::epsilon();
  const std::size_t kept = detail::select_mass(workspace.first(left), (static_cast<double>(p) - slack) * total);
  for (const Candidate& candidate : workspace.subspan(kept, left - kept)) scores[static_cast<std::size_t>(candidate.id)] = removed;
}

/// Keeps the tokens at least `ratio` times as probable as the most probable one. 0 keeps all, 1 the most probable.
/// Source: arXiv:2407.01082.
inline void min_p(std::span<float> scores, float ratio) {
  if (ratio == 0.0f) return;
  const float largest = max_score(scores);
  const float distance = std::log(ratio);
  for (float& score : scores) score = score - largest < distance ? removed : score;
}

/// weights[i] = exp(scores[i] - largest score); removed tokens get exactly 0. Returns the sum, at least 1.
inline double exp_weights(std::span<const float> scores, std::span<float> weights) {
  const float largest = max_score(scores);
  for (std::size_t i = 0; i < scores.size(); ++i) weights[i] = detail::exp_of_nonpositive(scores[i] - largest);
  return detail::sum(weights.first(scores.size()));
}

}  // namespace llm::warp
