// Where drafted tokens come from, for passes that verify several at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <llm/generate/options.hpp>

namespace llm {

/// How many drafted tokens keep a pass within the 8 rows whose logits have the bits of single tokens: the last token stands before them.
inline constexpr std::int64_t exact_drafts = 7;
/// Most tokens that a drafter may be asked for.
inline constexpr std::int64_t most_drafts = 64;

/// Nothing is drafted: one pass a token.
struct NoDrafter {};

/// Tokens that may come next, and the probabilities [count, ids that can be drawn] that each was drawn with; none when they were certain.
struct Draft {
  std::span<const std::int32_t> tokens = {};
  std::span<const float> probabilities = {};
};

/// How much drafting helped: each pass gives one token more than it had drafts accepted.
struct SpeculationCounts {
  std::int64_t passes = 0, drafted = 0, accepted = 0;
};

/// What drafts for a model. start(options, drawable) makes what a stream keeps of it; draft(run, ids, count) proposes at most `count`
/// tokens, perhaps none, that may follow the ids. What it returns stays valid until the run's next draft.
template <class D, class Model>
concept DrafterFor = std::same_as<D, NoDrafter> ||
    requires(D& drafter, typename D::Run& run, std::span<const std::int32_t> ids, std::int64_t count, const GenerateOptions& options) {
  { drafter.start(options, count) } -> std::same_as<typename D::Run>;
  { drafter.draft(run, ids, count) } -> std::same_as<Draft>;
};

}  // namespace llm
