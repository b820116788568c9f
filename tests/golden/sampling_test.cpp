// The sampler's distributions against those of the logits processors of Hugging Face transformers.
#include <llm/generate/sampling.hpp>
#include <llm/io/safetensors.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <support/catch.hpp>

namespace {

/// A tensor [rows, columns] of the file; a vector is one column.
template <class T>
struct Table {
  std::vector<T> values;
  std::size_t rows = 0, columns = 1;

  Table(const llm::SafetensorsFile& file, const std::string& name) : values(llm::copy_values<T>(file.at(name))) {
    rows = static_cast<std::size_t>(file.at(name).shape.at(0));
    columns = values.size() / rows;
  }
  std::span<const T> row(std::size_t i) const { return std::span<const T>(values).subspan(i * columns, columns); }
};

llm::SafetensorsFile open_golden() { return llm::SafetensorsFile::open(LLM_TEST_DATA "/goldens/sampling.safetensors"); }

/// abs 1e-6, and zeros are exact: a token is possible in both or in neither.
void check_probabilities(std::span<const float> actual, std::span<const float> expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("token " << i << ": " << actual[i] << ", expected " << expected[i]);
    CHECK((actual[i] == 0.0f) == (expected[i] == 0.0f));
    CHECK(std::abs(actual[i] - expected[i]) <= 1e-6f);
  }
}

}  // namespace

TEST_CASE("probabilities under temperature, top_k, top_p and min_p agree with transformers [topk] [topp]") {
  const auto file = open_golden();
  const Table<float> logits(file, "logits"), probs(file, "probs"), temperature(file, "temperature"), top_p(file, "top_p"),
      min_p(file, "min_p");
  const Table<std::int64_t> top_k(file, "top_k");
  REQUIRE(logits.rows == 32);
  REQUIRE(logits.columns == 37);
  std::vector<float> actual(logits.columns);
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const llm::SamplingOptions options{
        .temperature = temperature.values[row], .top_k = top_k.values[row], .top_p = top_p.values[row], .min_p = min_p.values[row]};
    INFO("row " << row << ": temperature " << options.temperature << ", top_k " << options.top_k << ", top_p " << options.top_p
                << ", min_p " << options.min_p);
    llm::probabilities(logits.row(row), options, actual);
    check_probabilities(actual, probs.row(row));
  }
}

TEST_CASE("top_k keeps the tokens that equal the k-th, as transformers [topk]") {
  const auto file = open_golden();
  const Table<float> logits(file, "tie.logits"), expected(file, "tie.top2_probs");
  std::vector<float> actual(logits.columns);
  llm::probabilities(logits.row(0), {.top_k = 2}, actual);
  check_probabilities(actual, expected.row(0));
}

TEST_CASE("the repetition penalty agrees with transformers [reppen]") {
  const auto file = open_golden();
  const Table<float> logits(file, "penalty.logits"), expected(file, "penalty.result");
  const Table<std::int64_t> previous(file, "penalty.previous");
  REQUIRE(logits.rows == 3);
  for (std::size_t row = 0; row < logits.rows; ++row) {
    std::vector<std::int32_t> ids;
    for (const std::int64_t id : previous.row(row)) ids.push_back(static_cast<std::int32_t>(id));
    std::vector<float> actual(logits.row(row).begin(), logits.row(row).end());
    llm::warp::repetition_penalty(logits.row(row), ids, 1.3f, actual);
    for (std::size_t i = 0; i < logits.columns; ++i) {
      INFO("row " << row << ", token " << i << ": " << actual[i] << ", expected " << expected.row(row)[i]);
      CHECK(std::abs(actual[i] - expected.row(row)[i]) <= 1e-6f);
    }
  }
}
