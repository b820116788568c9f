// SmolLM2 from its GGUF file of mixed formats: the logits of Hugging Face transformers, llama.cpp's greedy tokens.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>
#include <vector>

#include <llm/configs/smollm2.hpp>
#include <llm/io/load.hpp>
#include <llm/model.hpp>

#include <support/catch.hpp>

using Ids = std::vector<llm::Token>;
using Model = llm::LLM<llm::configs::smollm2_135m, llm::Frozen>;

namespace {

struct Expected {
  Ids prompt;
  std::vector<std::pair<llm::Token, float>> highest;  // logits after the prompt
  Ids greedy;
};

// Logits: transformers 5.24 with the weights that the package gguf decodes. Tokens: llama.cpp (commit 0c1e570) with the weights decoded to
// f32; its own logits are up to 6e-3 away, since its cache is in f16.
const Expected france{
    {504, 3575, 282, 4649, 314},
    {{7042, 17.37126f}, {260, 14.88859f}, {4528, 13.24498f}, {2250, 13.00946f}, {1315, 12.95152f}},
    {7042, 30, 198, 198, 504, 2988, 314, 42, 216, 34, 32, 33, 40, 29, 32, 33, 29, 34, 34, 216, 33, 34, 42, 33, 34, 42, 37, 35, 30, 2}};
const Expected once{{6403, 1980, 253, 655},
                    {{28, 18.14201f}, {281, 14.08253f}, {665, 13.36724f}, {260, 12.93552f}, {253, 12.92801f}},
                    {28,   260, 2240, 282, 23324, 27108, 436,  253, 15114, 39228, 28,   351,  25854, 41658, 284, 14055,
                     9018, 30,  1249, 347, 260,   929,   3514, 411, 28,    260,   2240, 2585, 288,   5946,  624, 2798}};
const Expected unicode{{216, 216, 18645, 250, 48392, 138, 12831, 7906, 240, 178, 239, 230, 1841, 216, 36, 34, 27, 33, 45},
                       {{33, 29.96183f}, {34, 29.47586f}, {36, 29.45056f}, {35, 29.37478f}, {37, 28.66295f}},
                       {}};

/// False, with a message, when the model could not be fetched.
bool has_model() {
  if (std::ifstream(LLM_TEST_REAL_MODEL).good()) return true;
  std::puts("skipped: there is no " LLM_TEST_REAL_MODEL);
  return false;
}

/// The highest logits after the prompt, at most `margin` from those expected, in the same order when `in_order`.
void check(const Model& model, const Expected& expected, double margin, bool in_order) {
  Model::Cache cache(1, 64);
  const auto ids = Model::Ids::from(expected.prompt, {1, static_cast<std::int64_t>(expected.prompt.size())});
  const auto logits = model.last_logits(ids, cache).to_vector();
  Ids order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<llm::Token>(i);
  const auto top = static_cast<std::ptrdiff_t>(expected.highest.size());
  const auto logit = [&](llm::Token id) { return logits[static_cast<std::size_t>(id)]; };
  std::partial_sort(order.begin(), order.begin() + top, order.end(), [&](llm::Token a, llm::Token b) { return logit(a) > logit(b); });
  for (std::size_t i = 0; i < expected.highest.size(); ++i) {
    if (in_order) CHECK(order[i] == expected.highest[i].first);
    CHECK(logit(expected.highest[i].first) == Approx(expected.highest[i].second).margin(margin));
  }
  if (!in_order || expected.greedy.empty()) return;
  Ids made;
  const auto count = static_cast<std::int64_t>(expected.greedy.size());
  for (const llm::Token token : llm::generate(model, expected.prompt, {.max_new_tokens = count, .temperature = 0})) made.push_back(token);
  CHECK(made == expected.greedy);
}

}  // namespace

TEST_CASE("SmolLM2 gives the logits of transformers and the greedy tokens of llama.cpp") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m>(LLM_TEST_REAL_MODEL);
  llm::set_f32_activations(true);
  for (const Expected* expected : {&france, &once, &unicode}) check(model, *expected, 1e-3, true);
  llm::set_f32_activations(false);
}

TEST_CASE("SmolLM2's logits move little when activations are rounded to bytes") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m>(LLM_TEST_REAL_MODEL);
  for (const Expected* expected : {&france, &once, &unicode}) check(model, *expected, 0.5, false);
}
