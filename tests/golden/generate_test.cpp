// Greedy generation against PyTorch's tokens, alone and as a row of a batch.
#include <vector>

#include <llm/generate/generate.hpp>
#include <support/model.hpp>

using namespace llm_test;

TEMPLATE_TEST_CASE("Greedy generation", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<modern_tiny>;
  const Golden file("modern_tiny.safetensors");
  const auto model = load_golden<Model>(file);
  const auto expected = file.tensor<llm::Token>("out.greedy").values;
  const std::vector<llm::Token> prompt(expected.begin(), expected.begin() + 7);
  std::vector<llm::Token> seen = prompt;
  for (const llm::Token token : llm::generate(model, prompt, {.max_new_tokens = 8, .temperature = 0})) seen.push_back(token);
  CHECK(seen == expected);

  const std::vector<std::vector<llm::Token>> prompts{{prompt.begin(), prompt.begin() + 3}, prompt};
  CHECK(llm::generate_batch(model, prompts, {.max_new_tokens = 8, .temperature = 0})[1] == expected);
}
