// Log-probabilities of drawn tokens, and the hook on logits.
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm_test::modern_words;
using llm_test::Tokens;
using Model = llm::LLM<modern_words>;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

const Model& model() {
  static const Model made = llm_test::strong<Model>(22);
  return made;
}

/// log softmax in double of the logits after ids, over the first `count`.
std::vector<double> log_softmax(const Tokens& ids, std::size_t count = 40) {
  const auto all = model()(Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())})).to_vector();
  std::vector<double> out(all.end() - 40, all.end());
  out.resize(count);
  double total = 0;
  for (const double x : out) total += std::exp(x);
  for (double& x : out) x -= std::log(total);
  return out;
}

void check(const llm::Logprobs& got, llm::Token drawn, const std::vector<double>& expected, std::size_t count) {
  CHECK(got.drawn.id == drawn);
  CHECK(std::abs(static_cast<double>(got.drawn.logprob) - expected[static_cast<std::size_t>(drawn)]) < 1e-4);
  REQUIRE(got.top.size() == count);
  std::vector<double> sorted = expected;
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(std::abs(static_cast<double>(got.top[i].logprob) - expected[static_cast<std::size_t>(got.top[i].id)]) < 1e-4);
    CHECK(std::abs(static_cast<double>(got.top[i].logprob) - sorted[i]) < 1e-4);
  }
}

}  // namespace

TEST_CASE("Log-probabilities are the model's own, whatever the sampling") {
  Tokens ids = llm_test::words(6, 1);
  const auto ban_the_best = [](std::span<float> logits, std::span<const llm::Token>) {
    *std::max_element(logits.begin(), logits.end()) = minus_infinity;
  };
  for (const llm::GenerateOptions& options :
       {llm::GenerateOptions{.max_new_tokens = 8, .temperature = 0, .logprobs = 0},
        llm::GenerateOptions{.max_new_tokens = 8, .temperature = 2, .repetition_penalty = 1.5f, .logprobs = 5},
        llm::GenerateOptions{.max_new_tokens = 8, .top_k = 3, .top_p = 0.5f, .logprobs = 40, .logits_hook = ban_the_best}}) {
    Tokens seen = ids;
    auto stream = llm::generate(model(), ids, options);
    for (const llm::Token token : stream) {
      check(stream.logprobs(), token, log_softmax(seen), static_cast<std::size_t>(*options.logprobs));
      seen.push_back(token);
    }
  }
}

TEST_CASE("Log-probabilities are over the ids that can be drawn, and equal ones come in their order") {
  const Tokens ids = llm_test::words(6, 2);
  auto stream = llm::generate(model(), Tokens{1, 2, 3}, {.max_new_tokens = 3, .vocab_limit = 9, .logprobs = 9});
  Tokens seen{1, 2, 3};
  for (const llm::Token token : stream) {
    check(stream.logprobs(), token, log_softmax(seen, 9), 9);
    seen.push_back(token);
  }
  llm::detail::LogprobsOfStep step(3);
  step.update(std::vector<float>{1, 2, minus_infinity, 2, 2, 0}, 2);
  CHECK(step.values().drawn.logprob == minus_infinity);
  CHECK(step.values().top[0].id == 1);
  CHECK(step.values().top[1].id == 3);
  CHECK(step.values().top[2].id == 4);
  llm::detail::LogprobsOfStep hot(1);
  hot.update(std::vector<float>{3e38f, -3e38f}, 0);
  CHECK(hot.values().drawn.logprob == 0.0f);
}

TEST_CASE("A stop token has a log-probability too; wrong counts are refused, and so is asking for what was not asked for") {
  const Tokens ids = llm_test::words(6, 3);
  const llm::Token first = llm::generate_tokens(model(), ids, {.max_new_tokens = 1, .temperature = 0}).back();
  auto stream = llm::generate(model(), ids, {.temperature = 0, .stop = {.token_ids = {first}}, .logprobs = 1});
  CHECK(stream.begin() == stream.end());
  CHECK(stream.logprobs().drawn.id == first);
  CHECK(stream.logprobs().drawn == stream.logprobs().top[0]);
  CHECK(llm_test::message_of([&] { llm::generate(model(), ids, {.logprobs = 41}); }) ==
        "llm::generate: logprobs is 41, expected 0 to the 40 ids that can be drawn");
  CHECK(llm_test::message_of([&] { llm::generate(model(), ids, {.logprobs = -1}); }).find("logprobs is -1") != std::string::npos);
  auto without = llm::generate(model(), ids, {.max_new_tokens = 1});
  without.prefill();
  CHECK(llm_test::message_of([&] { without.logprobs(); }).find(".logprobs = 0") != std::string::npos);
}

TEST_CASE("The hook sees the ids so far once a token, and what it leaves is drawn") {
  const Tokens ids = llm_test::words(5, 4);
  std::vector<Tokens> seen;
  const auto even = [&](std::span<float> logits, std::span<const llm::Token> so_far) {
    seen.emplace_back(so_far.begin(), so_far.end());
    CHECK(logits.size() == 40);
    for (std::size_t id = 1; id < logits.size(); id += 2) logits[id] = minus_infinity;
  };
  for (const float temperature : {0.0f, 1.5f}) {
    seen.clear();
    const Tokens all = llm::generate_tokens(model(), ids, {.max_new_tokens = 9, .temperature = temperature, .logits_hook = even});
    REQUIRE(seen.size() == 9);
    for (std::size_t i = 0; i < 9; ++i) {
      CHECK(seen[i] == Tokens(all.begin(), all.begin() + 5 + static_cast<std::ptrdiff_t>(i)));
      CHECK(all[5 + i] % 2 == 0);
    }
  }
  // A bias decides; the logits that a hook leaves alone give what is drawn without it.
  const auto bias = [](std::span<float> logits, std::span<const llm::Token>) { logits[11] += 1e4f; };
  CHECK(llm::generate_tokens(model(), ids, {.max_new_tokens = 3, .logits_hook = bias}) == [&] {
    Tokens out = ids;
    out.insert(out.end(), 3, 11);
    return out;
  }());
  const auto nothing = [](std::span<float>, std::span<const llm::Token>) {};
  CHECK(llm::generate_tokens(model(), ids, {.max_new_tokens = 9, .seed = 3, .logits_hook = nothing}) ==
        llm::generate_tokens(model(), ids, {.max_new_tokens = 9, .seed = 3}));
}

TEST_CASE("A hook that leaves nothing, or no number, is an error, and the token is not drawn [nanlogits]") {
  const Tokens ids = llm_test::words(5, 5);
  float value = minus_infinity;
  const auto fill = [&](std::span<float> logits, std::span<const llm::Token> so_far) {
    if (so_far.size() == 6) std::fill(logits.begin(), logits.end(), value);
  };
  auto stream = llm::generate(model(), ids, {.max_new_tokens = 3, .seed = 1, .logits_hook = fill});
  auto it = stream.begin();
  CHECK_THROWS_AS(++it, llm::NumericError);
  value = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(++it, llm::NumericError);
  CHECK(stream.sequence().size() == 6);
  value = 0;
  ++it;
  CHECK(stream.sequence().size() == 7);
}
