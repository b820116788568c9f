// What the training program says: its head, a line every so many steps, and a sample of text at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>
#include <llm/text.hpp>
#include <llm/train.hpp>

#include "metrics.hpp"
#include "train_options.hpp"
#include "training_text.hpp"

namespace examples {

/// What training runs on, the same for every model.
struct TrainingJob {
  TrainOptions options;
  std::string text;
  llm::CharTokenizer tokenizer;
  std::vector<llm::Token> tokens = tokenizer.encode(text);
  llm::TokenSplit split = llm::split_tokens(tokens, 0.1, options.length);
  double unigram_loss = llm::unigram_loss(split.train, split.validation, tokenizer.vocab_size());
};

template <const llm::Config& C>
void print_head(const TrainingJob& job, std::string_view name) {
  const auto number = [](auto value) { return static_cast<long long>(value); };
  std::printf("text        %s: %lld characters, %lld different; the last %lld for validation\n",
              job.options.data.empty() ? "the library's headers and documentation" : job.options.data.c_str(), number(job.tokens.size()),
              number(job.tokenizer.vocab_size()), number(job.split.validation.size()));
  std::printf("model       %s: vocabulary %lld, %lld layers, d_model %lld, %lld/%lld heads of %lld, ffn %lld, context %lld\n",
              std::string(name).c_str(), number(C.vocab_size), number(C.n_layers), number(C.d_model), number(C.n_heads),
              number(C.kv_heads()), number(C.head_width()), number(C.ffn_dim), number(C.max_seq_len));
  std::printf("parameters  %lld in %s\n", number(llm::parameter_count(C).total), job.options.dtype.c_str());
  std::printf("unigram     %.4f nats per character: what a model without context loses on the validation text\n", job.unigram_loss);
  std::printf("threads     %d\n\n", llm::num_threads());
  std::printf("%6s %10s %9s %8s %10s %11s\n", "step", "lr", "loss", "grad", "tokens/s", "validation");
}

inline void print_line(const Measurement& now) {
  std::printf("%6lld %10.2e %9.4f %8.3f %10.0f %11.4f\n", static_cast<long long>(now.step), now.lr, now.loss, now.grad_norm,
              now.tokens_per_second, now.validation_loss);
  std::fflush(stdout);
}

/// The beginning of the validation text and characters that continue it. Only half of the context is kept when it is full, so that
/// there may be more of them than fit in it.
template <class Model>
std::string sample(const Model& model, const TrainingJob& job, std::size_t characters) {
  const auto half = static_cast<std::size_t>(Model::config.max_seq_len / 2);
  const auto start = job.split.validation.first((std::min)(half, job.split.validation.size()));
  std::vector<llm::Token> ids(start.begin(), start.end());
  for (std::uint64_t part = 0; ids.size() < start.size() + characters; ++part) {
    const auto context = std::span<const llm::Token>(ids).last((std::min)(half, ids.size()));
    const auto longer = llm::generate_tokens(
        model, context, {.temperature = 0.8f, .seed = job.options.seed, .stream = part, .vocab_limit = job.tokenizer.vocab_size()});
    ids.insert(ids.end(), longer.begin() + static_cast<std::ptrdiff_t>(context.size()), longer.end());
  }
  return job.tokenizer.decode(start) + " >>> " + job.tokenizer.decode(std::span(ids).subspan(start.size(), characters));
}

}  // namespace examples
