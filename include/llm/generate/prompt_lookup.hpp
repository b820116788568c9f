// Drafts from the text itself: what followed the last few tokens when they occurred before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/generate/draft.hpp>

namespace llm {

/// How PromptLookup drafts.
struct PromptLookupOptions {
  std::int64_t max_tokens = exact_drafts;  ///< drafted for a pass, 1 to 64
  std::int64_t max_ngram = 4;              ///< how many of the last tokens are looked for; the longest match wins, then the latest
  std::int64_t min_ngram = 1;              ///< a shorter match drafts nothing
};

/// Drafts that cost nothing, good where a text repeats its prompt or itself: code to be edited, a document to be quoted. For a drafter of
/// certain tokens the acceptance rule of arXiv:2211.17192 is to draw from the model and compare; so at any temperature the tokens are those
/// of the same seed without drafts.
class PromptLookup {
 public:
  /// What a stream keeps.
  struct Run {
    std::vector<std::int32_t> tokens = {};
  };

  /// Throws ValueError that names the option.
  explicit PromptLookup(const PromptLookupOptions& options = {}) : options_(options) {
    const auto check = [](const char* name, std::int64_t value, std::int64_t most) {
      if (value < 1 || value > most) throw ValueError(detail::concat("llm::PromptLookup: ", name, " is ", value, ", expected 1 to ", most));
    };
    check("max_tokens", options.max_tokens, most_drafts);
    check("max_ngram", options.max_ngram, most_drafts);
    check("min_ngram", options.min_ngram, options.max_ngram);
  }

  Run start(const GenerateOptions&, std::int64_t) const {
    Run run;
    run.tokens.reserve(static_cast<std::size_t>(options_.max_tokens));
    return run;
  }

  Draft draft(Run& run, std::span<const std::int32_t> ids, std::int64_t count) const {
    run.tokens.clear();
    const std::size_t match = best_match(ids);
    if (match == 0) return {};
    // Where the match reaches the end of the text, it repeats.
    for (std::size_t i = 0, n = static_cast<std::size_t>((std::min)(count, options_.max_tokens)); i < n; ++i)
      run.tokens.push_back(match + i < ids.size() ? ids[match + i] : run.tokens[match + i - ids.size()]);
    return {run.tokens, {}};
  }

 private:
  /// Where the text goes on after the best earlier match of its end; 0 when there is none.
  std::size_t best_match(std::span<const std::int32_t> ids) const {
    std::size_t best = 0, best_length = static_cast<std::size_t>(options_.min_ngram) - 1;
    for (std::size_t end = ids.size() - 1; end > best_length; --end) {  // of the match, which begins at 0 at the earliest
      if (ids[end - 1] != ids.back()) continue;
      const std::size_t most = (std::min)(static_cast<std::size_t>(options_.max_ngram), end);
      std::size_t length = 1;
      while (length < most && ids[end - 1 - length] == ids[ids.size() - 1 - length]) ++length;
      if (length <= best_length) continue;
      best = end;
      best_length = length;
      if (length == static_cast<std::size_t>(options_.max_ngram)) break;
    }
    return best;
  }

  PromptLookupOptions options_;
};

}  // namespace llm
