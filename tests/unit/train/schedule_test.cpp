// The learning rate at the corners of the schedule.
#include <llm/train/schedule.hpp>

#include <cmath>

#include <support/catch.hpp>

TEST_CASE("warm-up is linear, decay half a cosine, and then the minimum") {
  const llm::WarmupCosine schedule{.max_lr = 1.0, .min_lr = 0.1, .warmup = 10, .steps = 110};
  CHECK(schedule(0) == Approx(0.1));
  CHECK(schedule(9) == Approx(1.0));
  CHECK(schedule(10) == Approx(1.0));
  CHECK(schedule(60) == Approx(0.55));
  CHECK(schedule(35) == Approx(0.1 + 0.45 * (1 + std::sqrt(0.5))));
  CHECK(schedule(109) > 0.1);
  CHECK(schedule(110) == 0.1);
  CHECK(schedule(100000) == 0.1);
}

TEST_CASE("no warm-up, only warm-up, and wrong numbers") {
  CHECK(llm::WarmupCosine{.max_lr = 1.0, .min_lr = 0.0, .warmup = 0, .steps = 2}(1) == Approx(0.5));
  CHECK(llm::WarmupCosine{.max_lr = 1.0, .min_lr = 0.0, .warmup = 10, .steps = 5}(7) == Approx(0.8));
  CHECK_THROWS_AS((llm::WarmupCosine{.max_lr = 0.1, .min_lr = 1.0}(0)), llm::ValueError);
  CHECK_THROWS_AS(llm::WarmupCosine{}(-1), llm::ValueError);
  CHECK_THROWS_AS((llm::WarmupCosine{.max_lr = std::nan("")}(0)), llm::ValueError);
}
