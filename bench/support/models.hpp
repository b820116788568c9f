// The models that are timed: one table for all programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llm/configs/gpt2.hpp>
#include <llm/configs/seed.hpp>
#include <llm/configs/train.hpp>
#include <llm/core/rng.hpp>
#include <llm/model.hpp>

namespace bench {

/// The shape of llama2.c's "stories110M", with its vocabulary of Llama 2. Source: github.com/karpathy/llama2.c.
inline constexpr llm::Config stories_110m{.vocab_size = 32000,
                                          .d_model = 768,
                                          .n_layers = 12,
                                          .n_heads = 12,
                                          .ffn_dim = 2048,
                                          .max_seq_len = 1024,
                                          .norm_eps = 1e-5,
                                          .tie_embeddings = true,
                                          .position = llm::Position::rope_interleaved};

/// A model and the batch of one training step.
template <const llm::Config& C>
struct TrainingWork {
  static constexpr const llm::Config& config = C;
  const char* name;
  std::int64_t batch, length;
};

/// f(TrainingWork) for each model whose training is timed.
template <class F>
void for_each_training(const F& f) {
  using namespace llm::configs;
  f(TrainingWork<modern_small<65>>{"small", 16, 64});
  f(TrainingWork<gpt2_124m>{"gpt2_124m", 4, 64});
  f(TrainingWork<seed_502m>{"seed_502m", 1, 256});
}

/// A model and the lengths at which its inference is timed; 0 prompt tokens: no prefill.
template <const llm::Config& C>
struct InferenceWork {
  static constexpr const llm::Config& config = C;
  const char* name;
  std::int64_t context, prompt;
};

/// f(InferenceWork) for each model whose inference is timed.
template <class F>
void for_each_inference(const F& f) {
  f(InferenceWork<llm::configs::seed_502m>{"seed_502m", 128, 512});
  f(InferenceWork<stories_110m>{"stories_110m", 128, 0});
}

/// Token ids [batch, length], the same ones for a stream.
template <class Model>
typename Model::Ids random_ids(std::int64_t batch, std::int64_t length, std::uint64_t stream) {
  std::vector<llm::Token> tokens;
  for (std::int64_t i = 0; i < batch * length; ++i)
    tokens.push_back(static_cast<llm::Token>(llm::philox(1, stream, static_cast<std::uint64_t>(i))[0] % Model::V));
  return Model::Ids::from(tokens, {batch, length});
}

}  // namespace bench
