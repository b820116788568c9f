// Batches as tensors: the same windows, held safely, without new memory.
#include <llm/train/batches.hpp>

#include <iterator>
#include <ranges>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <support/catch.hpp>

using llm::Token;

static_assert(std::ranges::input_range<llm::TensorBatches<llm::RandomWindows, llm::Cpu>>);
static_assert(std::ranges::input_range<llm::TensorBatches<llm::SequentialWindows, llm::Cpu>>);

static std::vector<Token> numbers(Token count) {
  std::vector<Token> tokens;
  for (Token i = 0; i < count; ++i) tokens.push_back(i);
  return tokens;
}

TEST_CASE("tensor batches hold what the windows hold") {
  const auto tokens = numbers(100);
  const llm::RandomWindowsOptions options{.batch = 3, .length = 5, .steps = 4, .seed = 2};
  llm::RandomWindows expected(tokens, options);
  auto batches = llm::random_windows(tokens, options);
  auto at = batches.begin();
  for (const llm::Batch& windows : expected) {
    REQUIRE(at != batches.end());
    CHECK(at->inputs.to_vector() == windows.inputs);
    CHECK((*at).targets.to_vector() == windows.targets);
    CHECK(at->inputs.extent(0) == 3);
    CHECK(at->inputs.extent(1) == 5);
    CHECK(batches.step() == expected.step());
    ++at;
  }
  CHECK(at == batches.end());
  CHECK(batches.state() == llm::RandomWindows::State{2, 4});
}

TEST_CASE("a restored position goes on with its batch, and a range that is used up is empty") {
  const auto tokens = numbers(100);
  auto batches = llm::random_windows(tokens, {.batch = 1, .length = 5, .steps = 4, .seed = 2});
  std::vector<std::vector<Token>> all;
  for (const auto& batch : batches) all.push_back(batch.inputs.to_vector());
  CHECK(all.size() == 4);
  CHECK(batches.begin() == batches.end());
  batches.restore({2, 3});
  std::size_t seen = 0;
  for (const auto& batch : batches) {
    CHECK(batch.inputs.to_vector() == all.back());
    ++seen;
  }
  CHECK(seen == 1);
}

TEST_CASE("validation batches end with shorter ones, on any backend") {
  const auto tokens = numbers(24);
  auto batches = llm::sequential_windows<llm::Reference>(tokens, {.batch = 2, .length = 5});
  CHECK(batches.target_count() == 23);
  std::vector<Token> targets;
  for (const auto& batch : batches)
    for (const Token t : batch.targets.to_vector()) targets.push_back(t);
  CHECK(targets == std::vector<Token>(tokens.begin() + 1, tokens.end()));
}

TEST_CASE("a batch that somebody keeps is not overwritten by the next") {
  const auto tokens = numbers(100);
  std::vector<llm::TensorBatch<llm::Cpu>> kept;
  std::vector<std::vector<Token>> values;
  auto batches = llm::random_windows(tokens, {.batch = 2, .length = 5, .steps = 5, .seed = 2});
  for (const auto& batch : batches) {
    kept.push_back(batch);
    values.push_back(batch.inputs.to_vector());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].inputs.to_vector() == values[i]);
}

TEST_CASE("batches after the first take their memory from the pool") {
  const auto tokens = numbers(5000);
  auto batches = llm::random_windows(tokens, {.batch = 7, .length = 77, .steps = 10, .seed = 2});
  std::int64_t after_first = 0;
  for (const auto& batch : batches) {
    REQUIRE(batch.inputs.numel() == 7 * 77);
    if (batches.step() == 0) after_first = llm::pool_statistics<llm::Cpu>().system_allocations;
  }
  CHECK(llm::pool_statistics<llm::Cpu>().system_allocations == after_first);
}
