// Each step from logits to probabilities by itself, on small hand-made scores.
#include <llm/core/error.hpp>
#include <llm/core/rng.hpp>
#include <llm/generate/warp.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <support/catch.hpp>

namespace {

using Scores = std::vector<float>;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float largest_float = (std::numeric_limits<float>::max)();

std::vector<std::int32_t> kept(const Scores& scores) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] != -inf) ids.push_back(static_cast<std::int32_t>(i));
  return ids;
}

std::vector<std::int32_t> top_k(Scores scores, std::int64_t k) {
  Scores workspace(scores.size());
  llm::warp::top_k(scores, k, workspace);
  return kept(scores);
}

std::vector<std::int32_t> top_p(Scores scores, float p) {
  std::vector<llm::warp::Candidate> workspace(scores.size());
  llm::warp::top_p(scores, p, workspace);
  return kept(scores);
}

std::vector<std::int32_t> min_p(Scores scores, float ratio) {
  llm::warp::min_p(scores, ratio);
  return kept(scores);
}

Scores penalised(const Scores& logits, const std::vector<std::int32_t>& previous, float penalty) {
  Scores scores = logits;
  llm::warp::repetition_penalty(logits, previous, penalty, scores);
  return scores;
}

std::string refusal(const Scores& logits) {
  try {
    llm::warp::check_logits(logits);
  } catch (const llm::NumericError& error) {
    return error.what();
  }
  return "";
}

using Ids = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("max_score and argmax at every length; the lowest id among equals") {
  for (std::size_t size = 1; size < 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      Scores scores(size, -3.0f);
      scores[at] = -1.0f;
      scores[size - 1] = -1.0f;
      REQUIRE(llm::warp::max_score(scores) == -1.0f);
      REQUIRE(llm::warp::argmax(scores) == static_cast<std::int32_t>(at));
    }
  }
  CHECK(llm::warp::max_score({}) == -inf);
}

TEST_CASE("logits that cannot be sampled are refused [nanlogits]") {
  for (std::size_t at : {0u, 3u, 40u}) {
    for (float bad : {not_a_number, -not_a_number, inf}) {
      Scores logits(41, 0.5f);
      logits[at] = bad;
      CHECK(refusal(logits).find("token " + std::to_string(at) + " is") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(llm::warp::check_logits(Scores(5, -inf)), llm::NumericError);
  CHECK_THROWS_AS(llm::warp::check_logits(Scores{}), llm::NumericError);
  CHECK_NOTHROW(llm::warp::check_logits(Scores{-inf, -largest_float, -inf}));
  CHECK_NOTHROW(llm::warp::check_logits(Scores{largest_float, -inf}));
}

TEST_CASE("the repetition penalty makes every repeated token less probable, once [reppen]") {
  const Scores logits{2.0f, -2.0f, 0.0f, 3.0f, -inf};
  CHECK(penalised(logits, {0, 1, 2, 4}, 2.0f) == Scores{1.0f, -4.0f, 0.0f, 3.0f, -inf});
  CHECK(penalised(logits, {0, 0, 1, 1, 1}, 2.0f) == penalised(logits, {1, 0}, 2.0f));
  CHECK(penalised(logits, {0, 1}, 0.5f) == Scores{4.0f, -1.0f, 0.0f, 3.0f, -inf});
  CHECK(penalised(logits, {0, 1}, 1.0f) == logits);
  CHECK(penalised(logits, {}, 2.0f) == logits);
}

TEST_CASE("the repetition penalty keeps finite scores finite and refuses unknown ids") {
  CHECK(penalised({-1e30f}, {0}, 1e30f) == Scores{-largest_float});
  CHECK(penalised({1e30f}, {0}, 1e-30f) == Scores{largest_float});
  CHECK_THROWS_AS(penalised({1.0f, 2.0f}, {2}, 1.5f), llm::ValueError);
  CHECK_THROWS_AS(penalised({1.0f, 2.0f}, {-1}, 1.5f), llm::ValueError);
}

TEST_CASE("temperature keeps scores finite at any value [temp0]") {
  for (float value : {std::numeric_limits<float>::denorm_min(), 1e-30f, 0.5f, 2.0f, largest_float}) {
    Scores scores{1.0f, 3.0f, -largest_float, largest_float, -inf};
    llm::warp::temperature(scores, value);
    CHECK(scores[3] == 0.0f);
    CHECK(scores[4] == -inf);
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::isfinite(scores[i]));
    CHECK(scores[2] <= scores[0]);
    CHECK(scores[0] <= scores[1]);
  }
  Scores scores{1.0f, 3.0f};
  llm::warp::temperature(scores, 0.5f);
  CHECK(scores == Scores{-4.0f, 0.0f});
}

TEST_CASE("top_k: 0 is off, V and more keep all, ties with the k-th stay [topk]") {
  const Scores scores{3, 1, 2, 2, 2, 0, -1};
  const Ids all{0, 1, 2, 3, 4, 5, 6};
  for (std::int64_t off : {std::int64_t{0}, std::int64_t{7}, std::int64_t{8}, INT64_MAX}) CHECK(top_k(scores, off) == all);
  CHECK(top_k(scores, 1) == Ids{0});
  for (std::int64_t k : {2, 3, 4}) CHECK(top_k(scores, k) == Ids{0, 2, 3, 4});
  CHECK(top_k(scores, 5) == Ids{0, 1, 2, 3, 4});
  CHECK(top_k(scores, 6) == Ids{0, 1, 2, 3, 4, 5});
  CHECK(top_k({-inf, 1, -inf, 2}, 3) == Ids{1, 3});
}

TEST_CASE("top_p: 0 keeps the argmax, 1 keeps all [topp]") {
  CHECK(top_p({1, 3, 3, 2}, 0.0f) == Ids{1});
  CHECK(top_p({1, 3, 3, 2}, 1.0f) == Ids{0, 1, 2, 3});
  CHECK(top_p({1, -200, 3}, 1.0f) == Ids{0, 1, 2});
  CHECK(top_p({-inf, 1, -inf}, 0.5f) == Ids{1});
  CHECK(top_p({7}, 0.0f) == Ids{0});
}

TEST_CASE("top_p: a cumulative probability equal to p is enough [topp]") {
  CHECK(top_p(Scores(4, 1.5f), 0.5f) == Ids{0, 1});
  CHECK(top_p(Scores(4, 1.5f), 0.51f) == Ids{0, 1, 2});
  for (int count = 1; count < 10; ++count) {  // none of tenths is a binary fraction
    CHECK(top_p(Scores(10, -2.0f), static_cast<float>(count) / 10.0f).size() == static_cast<std::size_t>(count));
  }
  const Scores halves{std::log(0.125f), std::log(0.5f), std::log(0.25f), std::log(0.125f)};
  CHECK(top_p(halves, 0.5f) == Ids{1});
  CHECK(top_p(halves, 0.75f) == Ids{1, 2});
  CHECK(top_p(halves, 0.875f) == Ids{0, 1, 2});
  CHECK(top_p(halves, 0.76f) == Ids{0, 1, 2});
}

TEST_CASE("top_p selects what a full sort selects") {
  llm::Rng rng(3);
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = 1 + rng.below(300);
    const double spread = 6.0 * rng.uniform();
    Scores scores(size);
    for (auto& score : scores) score = static_cast<float>(std::round(20 * spread * (rng.uniform() - 0.5)) / 10);
    const auto p = static_cast<float>(rng.uniform());

    std::vector<std::int32_t> order(size);
    for (std::size_t i = 0; i < size; ++i) order[i] = static_cast<std::int32_t>(i);
    const auto score_of = [&](std::int32_t id) { return static_cast<double>(scores[static_cast<std::size_t>(id)]); };
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return score_of(a) > score_of(b) || (score_of(a) == score_of(b) && a < b); });
    double total = 0;
    for (auto id : order) total += std::exp(score_of(id));
    double sum = 0;
    std::size_t count = 0;
    while (count < size && sum < (static_cast<double>(p) - 5e-7) * total) sum += std::exp(score_of(order[count++]));
    Ids expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>((std::max)(count, std::size_t{1})));
    std::sort(expected.begin(), expected.end());
    REQUIRE(top_p(scores, p) == expected);
  }
}

TEST_CASE("min_p keeps tokens by their ratio to the most probable one") {
  const Scores scores{std::log(0.5f), std::log(0.25f), std::log(0.2f), std::log(0.05f), -inf};
  CHECK(min_p(scores, 0.0f) == Ids{0, 1, 2, 3});
  CHECK(min_p(scores, 0.3f) == Ids{0, 1, 2});
  CHECK(min_p(scores, 0.45f) == Ids{0, 1});
  CHECK(min_p(scores, 1.0f) == Ids{0});
  CHECK(min_p({0.0f, std::log(0.5f)}, 0.5f) == Ids{0, 1});
  CHECK(min_p({2.0f, 2.0f, 1.9f}, 1.0f) == Ids{0, 1});
}

TEST_CASE("exp_weights is stable and gives removed tokens exactly nothing") {
  Scores weights(4);
  CHECK(llm::warp::exp_weights(Scores{largest_float, -inf, -largest_float, largest_float}, weights) == 2.0);
  CHECK(weights == Scores{1.0f, 0.0f, 0.0f, 1.0f});
  CHECK(llm::warp::exp_weights(Scores{-1e4f, -1e4f, -inf, -inf}, weights) == 2.0);
}

TEST_CASE("exp_weights is exact to the last place over the whole range") {
  Scores scores;
  for (int i = 0; i <= 110000; ++i) scores.push_back(-0.001f * static_cast<float>(i));
  Scores weights(scores.size());
  const double total = llm::warp::exp_weights(scores, weights);
  double expected_total = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double expected = std::exp(static_cast<double>(scores[i]));
    expected_total += expected;
    const double place =
        static_cast<double>(std::nextafter(static_cast<float>(expected), inf)) - static_cast<double>(static_cast<float>(expected));
    if (std::abs(static_cast<double>(weights[i]) - expected) > place) FAIL("exp(" << scores[i] << ") is " << weights[i]);
  }
  CHECK(weights[0] == 1.0f);
  CHECK(weights.back() == 0.0f);
  CHECK(total == Approx(expected_total).epsilon(1e-7));
}

TEST_CASE("top_k selects what a full sort selects, for few and for many of a large vocabulary [topk]") {
  llm::Rng rng(4);
  for (const std::int64_t k : {1, 2, 17, 62, 63, 200, 999}) {
    Scores scores(1000);
    for (float& score : scores) score = static_cast<float>(rng.below(300));  // with ties
    for (std::size_t i = 0; i < scores.size(); i += 7) scores[i] = -inf;
    Scores sorted = scores;
    std::sort(sorted.begin(), sorted.end(), [](float a, float b) { return a > b; });
    std::vector<std::int32_t> expected;
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (scores[i] != -inf && scores[i] >= sorted[static_cast<std::size_t>(k - 1)]) expected.push_back(static_cast<std::int32_t>(i));
    CHECK(top_k(scores, k) == expected);
  }
}
