// What tests of generation share: a small model whose tokens depend on what it reads, random tokens, messages of errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llm/core/rng.hpp>
#include <llm/model.hpp>

namespace llm_test {

using Tokens = std::vector<llm::Token>;

inline constexpr llm::Config modern_words{
    .vocab_size = 40, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 48, .max_seq_len = 160, .qk_norm = true};

/// Weights larger than those of the initialisation, so that what is drawn depends on the prompt.
template <class Model>
Model strong(std::uint64_t seed) {
  Model model = Model::random(seed);
  model.for_each_parameter([](auto& p) {
    if (p.kind() != llm::ParameterKind::matrix && p.kind() != llm::ParameterKind::residual_output) return;
    auto* const values = p.tensor().data();
    for (std::int64_t i = 0; i < p.numel(); ++i) values[i] = static_cast<typename Model::T>(10.0f * static_cast<float>(values[i]));
  });
  return model;
}

/// Random tokens below `vocab_size`.
inline Tokens words(std::int64_t count, std::uint64_t seed, std::uint64_t vocab_size = 40) {
  Tokens out;
  llm::Rng rng(seed);
  while (static_cast<std::int64_t>(out.size()) < count) out.push_back(static_cast<llm::Token>(rng.below(vocab_size)));
  return out;
}

/// The message of the llm::Error that f throws; empty when it throws none.
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const llm::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace llm_test
