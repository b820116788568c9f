// Sequential windows: every token but the first is a target exactly once.
#include <llm/data/sequential_windows.hpp>

#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

#include <support/catch.hpp>

static_assert(std::ranges::input_range<llm::SequentialWindows>);

TEST_CASE("every token is a target once, whatever the length of the text [shard_cover]") {
  constexpr std::int64_t B = 4, T = 6;
  for (std::int64_t count = 2; count <= 3 * B * T + 2; ++count) {  // among them B T, B T + 1 and 2 B T - 1
    CAPTURE(count);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), 0);
    auto windows = llm::SequentialWindows(tokens, {.batch = B, .length = T});
    for (int round = 0; round < 2; ++round) {
      std::int32_t next = 1;
      for (const auto& batch : windows) {
        REQUIRE(batch.inputs.size() == static_cast<std::size_t>(batch.batch * batch.length));
        REQUIRE((batch.batch >= 1 && batch.batch <= B && batch.length >= 1 && batch.length <= T));
        if (batch.length < T) REQUIRE(batch.batch == 1);
        for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
          REQUIRE(batch.targets[i] == next++);
          REQUIRE(batch.inputs[i] == batch.targets[i] - 1);
        }
      }
      REQUIRE(next == count);
    }
    REQUIRE(windows.target_count() == count - 1);
  }
}

TEST_CASE("a text without a target and wrong options are errors [shard_end]") {
  const std::vector<std::int32_t> one{7};
  CHECK_THROWS_WITH(llm::SequentialWindows(one, {}), Catch::Contains("need 2 tokens, the text has 1"));
  CHECK_THROWS_AS(llm::SequentialWindows(std::span<const std::int32_t>{}, {}), llm::ShapeError);
  const std::vector<std::int32_t> two{7, 8};
  CHECK_THROWS_AS(llm::SequentialWindows(two, {.batch = 0, .length = 1}), llm::ValueError);
  CHECK_THROWS_AS(llm::SequentialWindows(two, {.batch = 1, .length = -1}), llm::ValueError);
}
