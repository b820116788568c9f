// Random windows: aligned targets, every start, reproducible, resumable, no allocation after the first batch.
#include <llm/data/random_windows.hpp>

#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <llm/data/sequential_windows.hpp>

#include <support/catch.hpp>

using llm::Batch;
using llm::RandomWindows;

static_assert(std::ranges::input_range<RandomWindows>);

static std::vector<std::int32_t> numbers(std::int32_t count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

static std::vector<std::vector<std::int32_t>> inputs_of(RandomWindows& windows) {
  std::vector<std::vector<std::int32_t>> all;
  for (const Batch& batch : windows) all.push_back(batch.inputs);
  return all;
}

TEST_CASE("targets are the tokens after the inputs, and step() is the batch's step") {
  const auto tokens = numbers(100);
  auto windows = RandomWindows(tokens, {.batch = 3, .length = 5, .steps = 4, .seed = 2});
  std::int64_t step = 0;
  for (const auto& batch : windows) {
    CHECK(windows.step() == step++);
    CHECK(batch.batch == 3);
    CHECK(batch.length == 5);
    REQUIRE(batch.inputs.size() == 15);
    REQUIRE(batch.targets.size() == 15);
    for (std::size_t i = 0; i < 15; ++i) {
      CHECK(batch.targets[i] == batch.inputs[i] + 1);
      if (i % 5 != 0) CHECK(batch.inputs[i] == batch.inputs[i - 1] + 1);
    }
  }
  CHECK(step == 4);
  CHECK(windows.begin() == windows.end());
}

TEST_CASE("every start occurs, the last one too, about equally often") {
  const auto tokens = numbers(20);  // windows of 4 begin at 0 .. 15
  std::vector<int> starts(16);
  for (const auto& batch : RandomWindows(tokens, {.batch = 16, .length = 4, .steps = 400, .seed = 1}))
    for (std::int64_t row = 0; row < batch.batch; ++row)
      ++starts.at(static_cast<std::size_t>(batch.inputs[static_cast<std::size_t>(row * 4)]));
  double chi_square = 0;
  for (const int count : starts) chi_square += (count - 400.0) * (count - 400.0) / 400.0;
  CHECK(chi_square < 37.7);  // 15 degrees of freedom: exceeded once in 1000 seeds
}

TEST_CASE("the shortest text has one window, a shorter one is an error naming both numbers") {
  const auto tokens = numbers(9);
  for (const auto& batch : RandomWindows(tokens, {.batch = 2, .length = 8, .steps = 3, .seed = 1})) CHECK(batch.targets.back() == 8);
  CHECK_THROWS_WITH(RandomWindows(tokens, {.batch = 2, .length = 9}), Catch::Contains("need 9 + 1 tokens, the text has 9"));
  CHECK_THROWS_AS(RandomWindows(tokens, {.batch = 2, .length = 9}), llm::ShapeError);
  CHECK_THROWS_AS(RandomWindows(std::span<const std::int32_t>{}, {}), llm::ShapeError);
  CHECK_THROWS_AS(RandomWindows(tokens, {.batch = 0, .length = 2}), llm::ValueError);
  CHECK_THROWS_AS(RandomWindows(tokens, {.batch = 1, .length = 0}), llm::ValueError);
  CHECK_THROWS_AS(RandomWindows(tokens, {.batch = 1, .length = 2, .steps = -1}), llm::ValueError);
  CHECK_THROWS_AS(RandomWindows(tokens, {.batch = INT64_MAX, .length = 2}), llm::ShapeError);
}

TEST_CASE("the same seed gives the same batches, another seed others") {
  const auto tokens = numbers(1000);
  auto a = RandomWindows(tokens, {.batch = 4, .length = 8, .steps = 6, .seed = 3});
  auto b = RandomWindows(tokens, {.batch = 4, .length = 8, .steps = 6, .seed = 3});
  auto c = RandomWindows(tokens, {.batch = 4, .length = 8, .steps = 6, .seed = 4});
  const auto first = inputs_of(a);
  CHECK(first == inputs_of(b));
  CHECK(first != inputs_of(c));
  CHECK(first[0] != first[1]);
}

TEST_CASE("a position saved in the loop resumes with the next batch [resume]") {
  const auto tokens = numbers(1000);
  const llm::RandomWindowsOptions options{.batch = 4, .length = 8, .steps = 20, .seed = 3};
  auto whole = RandomWindows(tokens, options);
  const auto expected = inputs_of(whole);
  CHECK(whole.state() == RandomWindows::State{3, 20});

  std::vector<std::vector<std::int32_t>> parts;
  auto first = RandomWindows(tokens, options);
  for (const auto& batch : first) {
    parts.push_back(batch.inputs);
    if (first.step() == 9) break;
  }
  auto second = RandomWindows(tokens, {.batch = 4, .length = 8, .steps = 20, .seed = 99});
  second.restore(first.state());
  CHECK(second.step() == 10);
  for (const auto& batch : second) parts.push_back(batch.inputs);
  CHECK(parts == expected);
  CHECK(second.state() == whole.state());

  auto rest = inputs_of(first);  // a loop that was left goes on
  CHECK(rest == std::vector(expected.begin() + 10, expected.end()));
  CHECK_THROWS_AS(second.restore({3, -1}), llm::ValueError);
}

TEST_CASE("visiting validation batches between steps changes no training batch [val_isolation]") {
  const auto tokens = numbers(500);
  auto alone = RandomWindows(tokens, {.batch = 2, .length = 8, .steps = 5, .seed = 3});
  const auto expected = inputs_of(alone);
  auto training = RandomWindows(tokens, {.batch = 2, .length = 8, .steps = 5, .seed = 3});
  auto validation = llm::SequentialWindows(tokens, {.batch = 2, .length = 8});
  std::vector<std::vector<std::int32_t>> seen;
  for (const auto& batch : training) {
    std::int64_t targets = 0;
    for (const auto& other : validation) targets += static_cast<std::int64_t>(other.targets.size());
    CHECK(targets == 499);
    seen.push_back(batch.inputs);
  }
  CHECK(seen == expected);
}

TEST_CASE("batches keep their storage") {
  const auto tokens = numbers(100);
  auto windows = RandomWindows(tokens, {.batch = 3, .length = 5, .steps = 10, .seed = 2});
  const std::int32_t* inputs = nullptr;
  for (const auto& batch : windows) {
    if (inputs != nullptr) CHECK(batch.inputs.data() == inputs);
    inputs = batch.inputs.data();
  }
}

TEST_CASE("a range can be moved before it is used") {
  const auto tokens = numbers(100);
  auto a = RandomWindows(tokens, {.batch = 3, .length = 5, .steps = 2, .seed = 2});
  auto b = std::move(a);
  CHECK(inputs_of(b).size() == 2);
}
