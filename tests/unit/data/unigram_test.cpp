// The loss of token frequencies alone, against numbers worked out by hand.
#include <llm/data/unigram.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <support/catch.hpp>

TEST_CASE("the loss is the cross-entropy of the smoothed frequencies") {
  const std::vector<std::int32_t> train{0, 0, 0, 1};  // counts + 1: 4, 2, 1 of 7
  CHECK(llm::unigram_loss(train, std::vector<std::int32_t>{0}, 3) == Approx(std::log(7.0 / 4)));
  CHECK(llm::unigram_loss(train, std::vector<std::int32_t>{2}, 3) == Approx(std::log(7.0)));
  CHECK(llm::unigram_loss(train, std::vector<std::int32_t>{0, 1, 2, 1}, 3) ==
        Approx((std::log(7.0 / 4) + 2 * std::log(7.0 / 2) + std::log(7.0)) / 4));
}

TEST_CASE("without training tokens all are equally likely") {
  CHECK(llm::unigram_loss({}, std::vector<std::int32_t>{5, 6}, 97) == Approx(std::log(97.0)));
}

TEST_CASE("tokens outside the vocabulary and empty texts are errors [oov]") {
  const std::vector<std::int32_t> good{0, 1}, high{2}, low{-1};
  CHECK_THROWS_WITH(llm::unigram_loss(high, good, 2), Catch::Contains("token 2 is outside 0 .. 1"));
  CHECK_THROWS_AS(llm::unigram_loss(good, low, 2), llm::ValueError);
  CHECK_THROWS_AS(llm::unigram_loss(good, {}, 2), llm::ShapeError);
  CHECK_THROWS_AS(llm::unigram_loss(good, good, 0), llm::ValueError);
}
