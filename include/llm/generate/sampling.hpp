// How the next token is chosen from the model's logits: the options and the sampler.
#pragma once

#include <llm/core/error.hpp>
#include <llm/core/rng.hpp>
#include <llm/generate/warp.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace llm {

/// How the next token is drawn. The steps apply in the order of the fields' list below: repetition penalty, temperature,
/// top_k, top_p, min_p. The defaults draw from the model's own distribution.
struct SamplingOptions {
  float temperature = 1.0f;         ///< divides the logits; below 1 sharper, above 1 flatter; 0 takes the most probable token
  std::int64_t top_k = 0;           ///< only the k most probable tokens and those equal to the k-th; 0 is off
  float top_p = 1.0f;               ///< only the most probable tokens that sum to this probability; 1 is off, 0 the most probable
  float min_p = 0.0f;               ///< only tokens at least this many times as probable as the most probable one; 0 is off
  float repetition_penalty = 1.0f;  ///< above 1 makes tokens that occurred before less probable; 1 is off
  std::uint64_t seed = 0;           ///< same seed, same tokens
};

/// Throws llm::ValueError that names the field and its value when an option is out of its range.
inline void validate(const SamplingOptions& options) {
  const auto refuse = [](const char* field, auto value, const char* expected) {
    throw ValueError(detail::concat("llm::SamplingOptions: ", field, " is ", value, ", expected ", expected));
  };
  if (!(options.temperature >= 0.0f && std::isfinite(options.temperature)))
    refuse("temperature", options.temperature, "a finite number of at least 0 (0 takes the most probable token)");
  if (options.top_k < 0) refuse("top_k", options.top_k, "0 (off) or a positive count");
  if (!(options.top_p >= 0.0f && options.top_p <= 1.0f)) refuse("top_p", options.top_p, "a probability in [0, 1] (1 is off)");
  if (!(options.min_p >= 0.0f && options.min_p <= 1.0f)) refuse("min_p", options.min_p, "a ratio in [0, 1] (0 is off)");
  if (!(options.repetition_penalty > 0.0f && std::isfinite(options.repetition_penalty)))
    refuse("repetition_penalty", options.repetition_penalty, "a finite number above 0 (1 is off)");
}

namespace detail {
template <class Logits>
inline constexpr bool are_logits = std::is_convertible_v<const Logits&, std::span<const float>>;
}  // namespace detail

/// Draws tokens from logits. Its workspace is allocated once, by the constructor; drawing allocates nothing.
/// One sampler serves one sequence at a time; its random numbers continue from call to call.
class Sampler {
 public:
  /// Throws llm::ValueError when an option or the vocabulary size is out of range.
  Sampler(const SamplingOptions& options, std::int64_t vocab_size) : options_(options), rng_(options.seed) {
    validate(options);
    if (vocab_size < 1 || vocab_size > (std::numeric_limits<std::int32_t>::max)())
      throw ValueError(detail::concat("llm::Sampler: vocab_size is ", vocab_size, ", expected 1 to 2147483647"));
    const auto size = static_cast<std::size_t>(vocab_size);
    scores_.resize(size);
    weights_.resize(size);
    if (!greedy() && options.top_p < 1.0f) candidates_.resize(size);
  }

  /// The next token for logits [V]; `previous` are the ids that the repetition penalty looks at, the prompt's included
  /// (pass only the last of them to limit its reach). Throws llm::ShapeError when there are not V logits, llm::NumericError
  /// when they hold NaN or +inf or only -inf, llm::ValueError for a previous id outside the vocabulary; a call that throws
  /// draws no random number.
  std::int32_t sample(std::span<const float> logits, std::span<const std::int32_t> previous = {}) {
    if (greedy() && options_.repetition_penalty == 1.0f) {
      check(logits);
      return warp::argmax(logits);
    }
    warp_logits(logits, previous);
    if (greedy()) return warp::argmax(scores_);
    const double total = warp::exp_weights(scores_, weights_);
    return draw(rng_.uniform() * total);
  }

  /// The same, and writes the probabilities [V] that the token was drawn with to `q`.
  std::int32_t sample(std::span<const float> logits, std::span<const std::int32_t> previous, std::span<float> q) {
    const auto p = probabilities(logits, previous);
    if (q.size() != p.size()) throw ShapeError(detail::concat("llm::Sampler: ", q.size(), " places for ", p.size(), " probabilities"));
    std::copy(p.begin(), p.end(), q.begin());
    double total = 0;  // 1 but for rounding
    for (const float weight : p) total += static_cast<double>(weight);
    return draw(rng_.uniform() * total);
  }

  /// The next token, drawn with the same probabilities as by `sample`, but equal to `proposed` as often as can be, given that this was
  /// drawn with the probabilities `q` [V]. Throws as `sample`, and llm::ValueError for a proposed id outside the vocabulary. Source:
  /// arXiv:2211.17192, section 2.3.
  std::int32_t sample_near(std::span<const float> logits, std::span<const std::int32_t> previous, std::int32_t proposed,
                           std::span<const float> q) {
    const auto at = static_cast<std::size_t>(proposed);
    if (proposed < 0 || at >= scores_.size() || q.size() != scores_.size())
      throw ValueError(detail::concat("llm::Sampler: proposed id ", proposed, " with ", q.size(), " probabilities, for a vocabulary of ",
                                      scores_.size()));
    const auto p = probabilities(logits, previous);
    if (rng_.uniform() * static_cast<double>(q[at]) < static_cast<double>(p[at])) return proposed;
    double total = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = (std::max)(0.0f, weights_[i] - q[i]);
      total += static_cast<double>(weights_[i]);
    }
    if (total == 0)  // p and q differ by rounding alone; what was proposed may still have no probability in p
      for (const float weight : weigh()) total += static_cast<double>(weight);
    return draw(rng_.uniform() * total);
  }

  /// Logits of another type.
  template <class Logits>
  requires(!detail::are_logits<Logits>) std::int32_t sample(const Logits&, std::span<const std::int32_t> = {}) {
    static_assert(detail::are_logits<Logits>, "llm::Sampler::sample(logits, previous): logits must be float, one after another in memory");
    return 0;
  }

  /// The probabilities [V] that `sample` draws from; exactly 0 for tokens that it cannot return. Draws nothing and
  /// throws as `sample`. The result is valid until the next call.
  std::span<const float> probabilities(std::span<const float> logits, std::span<const std::int32_t> previous = {}) {
    warp_logits(logits, previous);
    return weigh();
  }

  const SamplingOptions& options() const { return options_; }
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(scores_.size()); }

  /// The state of the random numbers; a sampler with the same options that is given it back goes on with the same tokens.
  const Rng::State& state() const { return rng_.state(); }
  void restore(const Rng::State& state) { rng_ = Rng(state); }

 private:
  bool greedy() const { return options_.temperature == 0.0f; }

  void check(std::span<const float> logits) const {
    if (logits.size() != scores_.size())
      throw ShapeError(detail::concat("llm::Sampler: got ", logits.size(), " logits, expected vocab_size = ", scores_.size()));
    warp::check_logits(logits);
  }

  void warp_logits(std::span<const float> logits, std::span<const std::int32_t> previous) {
    check(logits);
    std::copy(logits.begin(), logits.end(), scores_.begin());
    warp::repetition_penalty(logits, previous, options_.repetition_penalty, scores_);
    if (greedy()) return;  // every further step keeps the most probable token
    warp::temperature(scores_, options_.temperature);
    warp::top_k(scores_, options_.top_k, weights_);
    warp::top_p(scores_, options_.top_p, candidates_);
    warp::min_p(scores_, options_.min_p);
  }

  /// The probabilities of the warped logits.
  std::span<const float> weigh() {
    if (greedy()) {
      std::fill(weights_.begin(), weights_.end(), 0.0f);
      weights_[static_cast<std::size_t>(warp::argmax(scores_))] = 1.0f;
      return weights_;
    }
    const double total = warp::exp_weights(scores_, weights_);
    for (float& weight : weights_) weight = static_cast<float>(static_cast<double>(weight) / total);
    return weights_;
  }

  /// The token at `position` of the weights laid end to end in the order of ids.
  std::int32_t draw(double position) const {
    std::size_t last = 0;
    double end = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0.0f) continue;
      last = i;
      end += static_cast<double>(weights_[i]);
      if (position < end) break;
    }
    return static_cast<std::int32_t>(last);  // the last possible token when rounding puts the position past the sum
  }

  SamplingOptions options_;
  Rng rng_;
  std::vector<float> scores_;                // [V] logits, then warped logits
  std::vector<float> weights_;               // [V] workspace of top_k, then exp(score - largest)
  std::vector<warp::Candidate> candidates_;  // [V] workspace of top_p
};

/// out [V] = the probabilities that a sampler with these options draws from. Allocates; a loop wants Sampler::probabilities.
inline void probabilities(std::span<const float> logits, const SamplingOptions& options, std::span<float> out,
                          std::span<const std::int32_t> previous = {}) {
  if (out.size() != logits.size())
    throw ShapeError(detail::concat("llm::probabilities: out has ", out.size(), " elements, expected one a logit, ", logits.size()));
  Sampler sampler(options, static_cast<std::int64_t>(logits.size()));
  const auto result = sampler.probabilities(logits, previous);
  std::copy(result.begin(), result.end(), out.begin());
}

}  // namespace llm
