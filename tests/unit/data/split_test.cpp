// The split into training and validation tokens.
#include <llm/data/split.hpp>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <support/catch.hpp>

TEST_CASE("the last part validates, and nothing is lost or shared") {
  std::vector<std::int32_t> tokens(1000);
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto split = llm::split_tokens(tokens, 0.1, 64);
  CHECK(split.train.size() == 900);
  CHECK(split.validation.size() == 100);
  CHECK(split.train.front() == 0);
  CHECK(split.train.back() == 899);
  CHECK(split.validation.front() == 900);
  CHECK(split.validation.back() == 999);
}

TEST_CASE("a part too short for one window is an error with the numbers") {
  const std::vector<std::int32_t> tokens(100);
  CHECK_THROWS_WITH(llm::split_tokens(tokens, 0.1, 10),
                    Catch::Contains("100 tokens give 90 for training and 10 for validation") && Catch::Contains("10 + 1"));
  CHECK(llm::split_tokens(tokens, 0.11, 10).validation.size() == 11);
  CHECK_THROWS_AS(llm::split_tokens(tokens, 0.9, 10), llm::ShapeError);
  CHECK_THROWS_AS(llm::split_tokens(std::span<const std::int32_t>{}, 0.5, 1), llm::ShapeError);
}

TEST_CASE("a fraction or length out of range is an error") {
  const std::vector<std::int32_t> tokens(100);
  for (const double fraction : {0.0, 1.0, -0.1, 1.5, std::nan("")})
    CHECK_THROWS_AS(llm::split_tokens(tokens, fraction, 1), llm::ValueError);
  CHECK_THROWS_AS(llm::split_tokens(tokens, 0.5, 0), llm::ValueError);
}
