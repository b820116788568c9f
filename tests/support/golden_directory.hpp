// What a model that is loaded from a directory in tests/data/goldens must give.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <llm/generate/generate.hpp>
#include <support/golden_configs.hpp>
#include <support/model.hpp>

namespace llm_test {

/// Greedy tokens after the first `prompt` of `expected` are the rest of it.
template <class Model>
void check_greedy(const Model& model, const std::vector<llm::Token>& expected, std::size_t prompt) {
  std::vector<llm::Token> seen(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(prompt));
  const auto count = static_cast<std::int64_t>(expected.size() - prompt);
  for (const llm::Token token : llm::generate(model, seen, {.max_new_tokens = count, .temperature = 0})) seen.push_back(token);
  CHECK(seen == expected);
}

/// Every layer, the logits and the greedy tokens of a directory's expected.safetensors.
template <class Model>
void check_directory(const Model& model, const std::string& directory) {
  constexpr double tolerance = 1e-4;  // as the files' metadata say
  const Golden file(directory + "/expected.safetensors");
  const auto ids = golden_ids<Model>(file, "input_ids");
  const auto states = model.hidden_states(ids);
  constexpr auto layers = static_cast<std::size_t>(Model::L);
  REQUIRE(states.size() == layers + 2);
  check_equal("embedding", states[0], file, "hidden.0", tolerance);
  for (std::size_t i = 0; i < layers; ++i)
    check_equal("layer " + std::to_string(i), states[i + 1], file, "layer." + std::to_string(i), tolerance);
  check_equal("final norm", states.back(), file, "hidden." + std::to_string(layers), tolerance);
  check_equal("logits", model(ids), file, "logits", tolerance);
  check_greedy(model, file.tensor<llm::Token>("greedy").values, 5);
}

}  // namespace llm_test
