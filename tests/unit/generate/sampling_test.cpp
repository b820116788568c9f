// The sampler: options, determinism, frequencies, and that no combination of options returns an impossible token.
#include <llm/core/error.hpp>
#include <llm/core/rng.hpp>
#include <llm/generate/sampling.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <support/catch.hpp>

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_logits(llm::Rng& rng, std::size_t size, double std) {
  std::vector<float> logits(size);
  const std::uint64_t seed = rng.next_u64();
  for (std::size_t i = 0; i < size; ++i) logits[i] = static_cast<float>(std * llm::normal_at(seed, 0, i));
  return logits;
}

std::string refusal(const llm::SamplingOptions& options) {
  try {
    llm::validate(options);
  } catch (const llm::ValueError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::int32_t> draw(llm::Sampler& sampler, const std::vector<float>& logits, int count) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(sampler.sample(logits));
  return ids;
}

}  // namespace

TEST_CASE("options out of range are refused by name and value [temp0]") {
  const auto names = [](const std::string& text, const char* field) { return text.find(std::string(field) + " is ") != std::string::npos; };
  CHECK(refusal({}).empty());
  for (float bad : {not_a_number, inf, -inf, -1.0f, -std::numeric_limits<float>::denorm_min()})
    CHECK(names(refusal({.temperature = bad}), "temperature"));
  CHECK(names(refusal({.top_k = -1}), "top_k"));
  for (float bad : {not_a_number, -0.01f, 1.01f, inf}) {
    CHECK(names(refusal({.top_p = bad}), "top_p"));
    CHECK(names(refusal({.min_p = bad}), "min_p"));
  }
  for (float bad : {not_a_number, 0.0f, -1.0f, inf}) CHECK(names(refusal({.repetition_penalty = bad}), "repetition_penalty"));
  CHECK(refusal({.top_k = -3}).find("-3") != std::string::npos);
  CHECK_THROWS_AS(llm::Sampler({.top_k = -1}, 10), llm::ValueError);
  CHECK_THROWS_AS(llm::Sampler({}, 0), llm::ValueError);
  CHECK_THROWS_AS(llm::Sampler({}, std::int64_t{1} << 31), llm::ValueError);
}

TEST_CASE("temperature 0, and nearly 0, is argmax, whatever else is set [temp0]") {
  llm::Rng rng(1);
  for (float temperature : {0.0f, -0.0f, 1e-30f, std::numeric_limits<float>::denorm_min()}) {
    for (const auto& base : {llm::SamplingOptions{}, llm::SamplingOptions{.top_k = 7, .top_p = 0.9f, .min_p = 0.1f}}) {
      auto options = base;
      options.temperature = temperature;
      llm::Sampler sampler(options, 50);
      for (int i = 0; i < 20; ++i) {
        const auto logits = random_logits(rng, 50, 3.0);
        REQUIRE(sampler.sample(logits) == llm::warp::argmax(logits));
      }
    }
  }
  llm::Sampler sampler({.temperature = 0}, 4);
  CHECK(sampler.sample(std::vector<float>{1, 5, 5, 2}) == 1);
  CHECK(sampler.state() == llm::Rng::State{0, 0, 0});
  CHECK(sampler.sample(std::vector<float>{-inf, -inf, -inf, -7}) == 3);
  const auto certain = sampler.probabilities(std::vector<float>{1, 5, 5, 2});
  CHECK(std::vector<float>(certain.begin(), certain.end()) == std::vector<float>{0, 1, 0, 0});
}

TEST_CASE("a very high temperature is uniform over the tokens that are not masked") {
  std::vector<float> out(4);
  llm::probabilities(std::vector<float>{-3, 40, -inf, 0}, {.temperature = 1e30f}, out);
  for (std::size_t i : {0u, 1u, 3u}) CHECK(out[i] == Approx(1.0 / 3));
  CHECK(out[2] == 0.0f);
}

TEST_CASE("greedy decoding sees the repetition penalty [reppen]") {
  llm::Sampler sampler({.temperature = 0, .repetition_penalty = 2.0f}, 3);
  const std::vector<float> logits{3.0f, 2.0f, 1.0f}, negative{-1.0f, -1.5f, -4.0f};
  const std::vector<std::int32_t> previous{0, 0};
  CHECK(sampler.sample(logits) == 0);
  CHECK(sampler.sample(logits, previous) == 1);
  CHECK(sampler.sample(negative, previous) == 1);
  CHECK_THROWS_AS(sampler.sample(logits, std::vector<std::int32_t>{3}), llm::ValueError);
}

TEST_CASE("top_k 1 is argmax and top_p 0 is argmax [topk] [topp]") {
  llm::Rng rng(2);
  llm::Sampler top_k({.top_k = 1}, 200), top_p({.top_p = 0}, 200);
  for (int i = 0; i < 50; ++i) {
    const auto logits = random_logits(rng, 200, 0.1);
    REQUIRE(top_k.sample(logits) == llm::warp::argmax(logits));
    REQUIRE(top_p.sample(logits) == llm::warp::argmax(logits));
  }
}

TEST_CASE("logits that cannot be sampled throw and draw nothing [nanlogits]") {
  for (float temperature : {0.0f, 1.0f}) {
    llm::Sampler sampler({.temperature = temperature, .top_k = 2, .top_p = 0.5f, .min_p = 0.1f}, 3);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>{0, not_a_number, 1}), llm::NumericError);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>{0, inf, 1}), llm::NumericError);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>(3, not_a_number)), llm::NumericError);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>(3, -inf)), llm::NumericError);
    CHECK_THROWS_AS(sampler.probabilities(std::vector<float>(3, -inf)), llm::NumericError);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>(4, 0.0f)), llm::ShapeError);
    CHECK_THROWS_AS(sampler.sample(std::vector<float>{}), llm::ShapeError);
    CHECK(sampler.state().position == 0);
    CHECK(sampler.sample(std::vector<float>{-inf, -5, -inf}) == 1);
  }
  std::vector<float> out(2);
  CHECK_THROWS_AS(llm::probabilities(std::vector<float>{1, 2, 3}, {}, out), llm::ShapeError);
}

TEST_CASE("the same seed gives the same tokens, another seed others, and a state can be resumed") {
  llm::Rng rng(4);
  const auto logits = random_logits(rng, 100, 1.0);
  llm::Sampler first({.top_p = 0.95f, .seed = 5}, 100), second({.top_p = 0.95f, .seed = 5}, 100), other({.top_p = 0.95f, .seed = 6}, 100);
  const auto ids = draw(first, logits, 40);
  CHECK(draw(second, logits, 40) == ids);
  CHECK(draw(other, logits, 40) != ids);
  const auto state = first.state();
  const auto continued = draw(first, logits, 40);
  CHECK(continued != ids);
  other.restore(state);
  CHECK(draw(other, logits, 40) == continued);
  CHECK(first.probabilities(logits).size() == 100);
  CHECK(first.state() == other.state());
}

TEST_CASE("frequencies are the probabilities") {
  llm::Rng rng(6);
  const auto logits = random_logits(rng, 12, 1.5);
  constexpr int draws = 40000;
  for (const auto& options : {llm::SamplingOptions{.seed = 1}, llm::SamplingOptions{.temperature = 0.7f, .top_k = 8, .seed = 2},
                              llm::SamplingOptions{.temperature = 1.4f, .top_p = 0.9f, .min_p = 0.05f, .seed = 3}}) {
    llm::Sampler sampler(options, 12);
    std::vector<float> expected(12);
    llm::probabilities(logits, options, expected);
    CHECK(std::accumulate(expected.begin(), expected.end(), 0.0) == Approx(1.0));
    std::vector<int> count(12, 0);
    for (const auto id : draw(sampler, logits, draws)) ++count[static_cast<std::size_t>(id)];
    double chi_squared = 0;
    int possible = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      const double mean = draws * static_cast<double>(expected[i]);
      if (expected[i] == 0.0f) CHECK(count[i] == 0);
      if (expected[i] == 0.0f) continue;
      ++possible;
      chi_squared += (count[i] - mean) * (count[i] - mean) / mean;
    }
    INFO(possible << " tokens, chi squared " << chi_squared);
    CHECK(chi_squared < (possible - 1) + 5 * std::sqrt(2.0 * (possible - 1)));
  }
}

TEST_CASE("no combination of options returns a token of probability 0") {
  llm::Rng rng(7);
  const auto pick = [&](std::vector<float> values) { return values[rng.below(values.size())]; };
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = 1 + rng.below(round % 50 == 0 ? 3000 : 60);
    auto logits = random_logits(rng, size, pick({0.0f, 0.1f, 3.0f, 1e4f, 1e37f}));
    if (rng.below(2) == 0)
      for (auto& logit : logits) logit = std::round(logit);  // many ties
    for (auto& logit : logits) logit = rng.below(5) == 0 ? -inf : logit;
    logits[rng.below(size)] = pick({-(std::numeric_limits<float>::max)(), -2.0f, 0.0f, 2.0f, (std::numeric_limits<float>::max)()});
    std::vector<std::int32_t> previous(rng.below(8));
    for (auto& id : previous) id = static_cast<std::int32_t>(rng.below(size));
    const llm::SamplingOptions options{.temperature = pick({0.0f, 1e-45f, 1e-30f, 0.3f, 1.0f, 1.7f, 1e30f}),
                                       .top_k = static_cast<std::int64_t>(rng.below(2) * rng.below(size + 3)),
                                       .top_p = pick({0.0f, 1e-30f, 0.1f, 0.9f, 0.999999f, 1.0f, 1.0f}),
                                       .min_p = pick({0.0f, 0.0f, 1e-30f, 0.05f, 0.9f, 1.0f}),
                                       .repetition_penalty = pick({1e-30f, 0.5f, 1.0f, 1.0f, 1.3f, 1e30f}),
                                       .seed = rng.next_u64()};
    llm::Sampler sampler(options, static_cast<std::int64_t>(size));
    std::vector<float> out(size);
    llm::probabilities(logits, options, out, previous);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      REQUIRE((out[i] >= 0.0f && out[i] <= 1.0f));
      if (logits[i] == -inf) REQUIRE(out[i] == 0.0f);
      sum += static_cast<double>(out[i]);
    }
    REQUIRE(sum == Approx(1.0).epsilon(1e-5));
    for (int i = 0; i < 5; ++i) {
      const auto id = sampler.sample(logits, previous);
      REQUIRE((id >= 0 && static_cast<std::size_t>(id) < size));
      REQUIRE(out[static_cast<std::size_t>(id)] > 0.0f);
    }
  }
}
