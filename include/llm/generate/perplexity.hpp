// How well a model predicts a text: nats per token and perplexity over windows of the text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/core/error.hpp>
#include <llm/ops/cross_entropy.hpp>
#include <llm/ops/router_losses.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// Which tokens are predicted from which. A window holds `context` tokens; the next one begins `stride` tokens later. Of each window those
/// tokens count that no earlier window has counted and that have at least `given` tokens before them in the window.
struct PerplexityOptions {
  std::int64_t context = 512;
  std::int64_t stride = 256;      // no more than context
  std::int64_t given = 1;         // at least 1
  bool whole_windows = false;     // what is left of the text after the last whole window does not count
  std::optional<Token> bos = {};  // stands in place of each window's first token

  /// Windows one behind the other of which the second half counts, as llama.cpp's llama-perplexity does.
  static PerplexityOptions separate(std::int64_t context, std::optional<Token> bos = {}) {
    return {.context = context, .stride = context, .given = context / 2 + 1, .whole_windows = true, .bos = bos};
  }
};

/// The sum of a text's surprises.
struct Perplexity {
  double nats = 0;          // -ln p of the tokens that count, together
  std::int64_t tokens = 0;  // so many
  std::int64_t windows = 0;

  double mean() const { return nats / static_cast<double>(tokens); }
  double perplexity() const { return std::exp(mean()); }
};

namespace detail {

inline void check_perplexity(std::span<const Token> ids, std::int64_t max_seq_len, const PerplexityOptions& o) {
  const auto refuse = [](const auto&... parts) { throw ValueError(concat("llm::perplexity: ", parts...)); };
  if (o.context < 2 || o.context > max_seq_len)
    refuse("context ", o.context, " is not in 2 ... ", max_seq_len, ", the model's max_seq_len");
  if (o.stride < 1 || o.stride > o.context) refuse("stride ", o.stride, " is not in 1 ... ", o.context, ", the context");
  if (o.given < 1 || o.given >= o.context) refuse("given ", o.given, " is not in 1 ... ", o.context - 1, ", the context less one");
  const auto length = static_cast<std::int64_t>(ids.size()), least = o.whole_windows ? o.context : o.given + 1;
  if (length < least) refuse("the text has ", length, " tokens, ", least, " are needed");
}

}  // namespace detail

/// Runs the model over windows of `ids`. `progress(so_far)`, a Perplexity, is called after each window.
/// With the default options every token but the first counts once, with at least context - stride tokens before it where the text has
/// them: the sliding window of Hugging Face's documentation on perplexity. Throws ValueError for options that do not fit the model or the
/// text, and for ids outside the vocabulary.
template <class Model, class Progress>
Perplexity perplexity(const Model& model, std::span<const Token> ids, const PerplexityOptions& options, Progress&& progress) {
  detail::check_perplexity(ids, Model::config.max_seq_len, options);
  constexpr Token ignored = static_cast<Token>(LossOptions{}.ignore_index);
  const NoTape inference_only;
  Perplexity sum;
  const auto length = static_cast<std::int64_t>(ids.size());
  std::int64_t counted = 0;  // tokens before this one need not be counted any more
  for (std::int64_t begin = 0; counted < length; begin += options.stride) {
    const std::int64_t end = (std::min)(begin + options.context, length), T = end - begin - 1;
    if (T < 1 || (options.whole_windows && end - begin < options.context)) break;
    std::vector<Token> inputs(ids.begin() + begin, ids.begin() + end - 1), targets(static_cast<std::size_t>(T), ignored);
    if (options.bos) inputs.front() = *options.bos;
    const std::int64_t first = (std::max)(counted, begin + options.given);
    for (std::int64_t at = first; at < end; ++at) targets[static_cast<std::size_t>(at - begin - 1)] = ids[static_cast<std::size_t>(at)];
    counted = end;
    if (first >= end) continue;
    using Ids = typename Model::Ids;
    const double mean = detail::mean_cross_entropy(model, Ids::from(inputs, {1, T}), Ids::from(targets, {1, T}));
    sum.nats += mean * static_cast<double>(end - first);
    sum.tokens += end - first;
    ++sum.windows;
    progress(std::as_const(sum));
  }
  return sum;
}

template <class Model>
Perplexity perplexity(const Model& model, std::span<const Token> ids, const PerplexityOptions& options = {}) {
  return perplexity(model, ids, options, [](const Perplexity&) {});
}

}  // namespace llm
