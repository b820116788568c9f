// A tiny training run: model, optimizer, batches and the trace of what happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llm/core/rng.hpp>
#include <llm/model.hpp>
#include <llm/train.hpp>

namespace llm_test {

inline constexpr llm::Config tiny{.vocab_size = 31,
                                  .d_model = 16,
                                  .n_layers = 2,
                                  .n_heads = 4,
                                  .n_kv_heads = 2,
                                  .head_dim = 4,
                                  .ffn_dim = 24,
                                  .max_seq_len = 16,
                                  .qk_norm = true};
inline constexpr llm::Config tied = [] {
  llm::Config c = tiny;
  c.tie_embeddings = true;
  return c;
}();

/// Tokens that can be learned: each follows from the one before, with some noise.
inline std::vector<llm::Token> learnable_tokens(std::int64_t count, std::int64_t vocab_size) {
  llm::Rng rng(5);
  std::vector<llm::Token> tokens;
  std::uint64_t last = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto v = static_cast<std::uint64_t>(vocab_size);
    last = rng.below(8) == 0 ? rng.below(v) : (last * 3 + 1) % v;
    tokens.push_back(static_cast<llm::Token>(last));
  }
  return tokens;
}

/// All numbers of a model or of what its optimizer keeps, parameter after parameter.
template <class Model>
std::vector<typename Model::T> all_weights(const Model& model) {
  std::vector<typename Model::T> all;
  model.for_each_parameter([&](const auto& p) {
    for (const auto value : p.tensor().to_vector()) all.push_back(value);
  });
  return all;
}
template <class Optimizer>
std::vector<double> all_moments(const Optimizer& optimizer) {
  std::vector<double> all;
  for (const auto& s : optimizer.states()) {
    for (const auto value : s.m.to_vector()) all.push_back(static_cast<double>(value));
    for (const auto value : s.v.to_vector()) all.push_back(static_cast<double>(value));
    if (s.master)
      for (const auto value : s.master.to_vector()) all.push_back(static_cast<double>(value));
  }
  return all;
}

/// The loop of every training program.
template <class Model>
struct Training {
  using T = typename Model::T;
  std::vector<llm::Token> tokens = learnable_tokens(600, Model::V);
  Model model;
  llm::AdamW<T, typename Model::backend_type> optimizer;
  llm::TensorBatches<llm::RandomWindows, typename Model::backend_type> batches;
  llm::WarmupCosine schedule;
  std::vector<double> losses;
  std::vector<double> norms;

  explicit Training(std::uint64_t seed = 1, std::int64_t steps = 20, double max_lr = 3e-3)
      : model(Model::random(seed)),
        optimizer(model),
        batches(llm::random_windows<typename Model::backend_type>(tokens, {.batch = 4, .length = 12, .steps = steps, .seed = 2})),
        schedule{.max_lr = max_lr, .min_lr = max_lr / 10, .warmup = 5, .steps = steps} {}

  /// Goes on until `last` steps have been made in all; calls after(step) after each.
  template <class After>
  void train(std::int64_t last, After&& after) {
    if (batches.state().step >= last) return;
    for (const auto& batch : batches) {
      llm::Tape tape;
      const auto loss = model.loss(batch.inputs, batch.targets);
      losses.push_back(llm::finite_loss(loss));
      tape.backward(loss);
      norms.push_back(optimizer.step(schedule(batches.step()), 1.0));
      after(batches.step());
      if (batches.state().step == last) break;
    }
  }
  void train(std::int64_t last) {
    train(last, [](std::int64_t) {});
  }
};

/// All gradients, parameter after parameter; they are cleared.
template <class Model>
std::vector<double> take_gradients(Model& model) {
  std::vector<double> all;
  model.for_each_parameter([&](auto& p) {
    for (const auto value : p.tensor().grad().to_vector()) all.push_back(static_cast<double>(value));
    p.tensor().clear_grad();
  });
  return all;
}

}  // namespace llm_test
