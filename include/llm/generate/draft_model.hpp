// Drafts from a smaller model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/draft.hpp>
#include <llm/generate/sequence.hpp>
#include <llm/generate/session.hpp>

namespace llm {

/// How DraftModel drafts.
struct DraftModelOptions {
  std::int64_t max_tokens = 4;  ///< drafted for a pass, 1 to 64
  std::int64_t capacity = 0;    ///< positions that it reads; beyond them nothing is drafted. 0: its max_seq_len
};

/// A model whose ids mean the same, read ahead of a larger one with the same sampling options; it must have all ids that can be drawn, be
/// its vocab_size another one, as published pairs pad theirs: see GenerateOptions::vocab_limit. At temperature 0 the tokens are those of
/// the larger model alone. Above, each draft is judged by the rule of arXiv:2211.17192, section 2.3: the tokens are others than those of
/// the seed without drafts, with exactly the same distribution. The model must outlive it. Move-only.
template <CausalModel D>
class DraftModel {
 public:
  /// What a stream keeps.
  struct Run {
    Sampler sampler;
    detail::HostLogits<typename D::LastLogits> host;
    bool greedy;
    std::vector<std::int32_t> text;  // read so far, drafts included
    std::vector<std::int32_t> tokens;
    std::vector<float> probabilities;  // [max_tokens, ids that can be drawn]
  };

  /// Throws ValueError that names the option, ShapeError for a capacity beyond max_seq_len.
  explicit DraftModel(const D& model, const DraftModelOptions& options = {})
      : session_(model, options.capacity == 0 ? std::int64_t{D::config.max_seq_len} : options.capacity), max_tokens_(options.max_tokens) {
    if (max_tokens_ < 1 || max_tokens_ > most_drafts)
      throw ValueError(detail::concat("llm::DraftModel: max_tokens is ", max_tokens_, ", expected 1 to ", most_drafts));
  }
  explicit DraftModel(const D&&, const DraftModelOptions& = {}) = delete;  // it would be gone before the first token

  /// Throws ValueError when ids can be drawn that the model does not have.
  Run start(const GenerateOptions& options, std::int64_t drawable) const {
    if (drawable > D::V)
      throw ValueError(detail::concat("llm::DraftModel: ", drawable, " ids can be drawn, but the model that drafts has ",
                                      std::int64_t{D::V}, " (hint: .vocab_limit = ", std::int64_t{D::V},
                                      ", when there is text for no more)"));
    Run run{Sampler(options.sampling(), drawable), detail::HostLogits<typename D::LastLogits>(D::V), options.temperature == 0, {}, {}, {}};
    run.sampler.restore({~options.seed, options.stream, 0});  // other random numbers than the larger model's
    run.text.reserve(static_cast<std::size_t>(session_.capacity() + max_tokens_));
    run.tokens.reserve(static_cast<std::size_t>(max_tokens_));
    if (!run.greedy) run.probabilities.resize(static_cast<std::size_t>(max_tokens_ * drawable));
    return run;
  }

  /// Throws as the model does.
  Draft draft(Run& run, std::span<const std::int32_t> ids, std::int64_t count) {
    const auto length = static_cast<std::int64_t>(ids.size());
    count = (std::min)({count, max_tokens_, session_.capacity() - length + 1});  // the last draft is not read
    if (count < 1) return {};
    const auto drawable = static_cast<std::size_t>(run.sampler.vocab_size());
    run.text.assign(ids.begin(), ids.end());
    run.tokens.clear();
    auto fresh = ids.subspan(static_cast<std::size_t>(session_.keep_prefix(ids)));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto logits = run.host.read(session_.last_logits(fresh), 0).first(drawable);
      const std::int32_t next =
          run.greedy ? run.sampler.sample(logits, run.text)
                     : run.sampler.sample(logits, run.text, std::span(run.probabilities).subspan(run.tokens.size() * drawable, drawable));
      run.tokens.push_back(next);
      run.text.push_back(next);
      fresh = std::span(run.tokens).last(1);
    }
    return {run.tokens, std::span(run.probabilities).first(run.greedy ? 0 : run.tokens.size() * drawable)};
  }

 private:
  Session<D> session_;
  std::int64_t max_tokens_;
};

}  // namespace llm
