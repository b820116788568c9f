// Prefill and decode through the KV cache against PyTorch: logits, cache contents, greedy tokens.
#include <algorithm>

#include <support/model.hpp>

using namespace llm_test;

namespace {

/// Columns [from, to) of ids [B, T].
template <class Ids>
Ids columns(const Ids& ids, std::int64_t from, std::int64_t to) {
  const auto all = ids.to_vector();
  std::vector<llm::Token> part;
  for (std::int64_t b = 0; b < ids.extent(0); ++b)
    for (std::int64_t t = from; t < to; ++t) part.push_back(all[static_cast<std::size_t>(b * ids.extent(1) + t)]);
  return Ids::from(part, {ids.extent(0), to - from});
}

/// One layer of a cache [L, B, capacity, K, E] up to a length, as golden files keep it: [B, K, S, E].
template <class Model>
std::vector<typename Model::T> layer(const typename Model::Cache& cache, const typename Model::Cache::Keys& all, std::int64_t i) {
  const auto values = all.to_vector();
  std::vector<typename Model::T> out;
  constexpr std::int64_t K = Model::Cache::K, E = Model::Cache::E;
  for (std::int64_t b = 0; b < cache.batch(); ++b)
    for (std::int64_t k = 0; k < K; ++k)
      for (std::int64_t s = 0; s < cache.length(b); ++s)
        for (std::int64_t e = 0; e < E; ++e)
          out.push_back(values[static_cast<std::size_t>((((i * cache.batch() + b) * cache.capacity() + s) * K + k) * E + e)]);
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("Prefill of 7, then 5 single steps", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<modern_tiny>;
  const Golden file("modern_tiny.safetensors");
  const double tolerance = golden_tolerance(file, "out");
  const auto model = load_golden<Model>(file);
  const auto sequence = golden_ids<Model>(file, "in.sequence");
  typename Model::Cache cache(2);
  check_equal("prefill", model(columns(sequence, 0, 7), cache), file, "out.prefill_logits", tolerance);
  const auto expected = file.tensor<double>("out.decode_logits");  // [2, 5, V]
  for (std::int64_t t = 7; t < 12; ++t) {
    const auto logits = model.last_logits(columns(sequence, t, t + 1), cache).to_vector();  // [2, V]
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t v = 0; v < Model::V; ++v) {
        const auto want = expected.values[static_cast<std::size_t>((b * 5 + t - 7) * Model::V + v)];
        REQUIRE(std::abs(static_cast<double>(logits[static_cast<std::size_t>(b * Model::V + v)]) - want) <= tolerance);
      }
  }
  for (std::int64_t i = 0; i < Model::L; ++i) {
    const std::string name = "out.cache." + std::to_string(i);
    check_close(name, layer<Model>(cache, cache.keys(), i), file.tensor<double>(name + ".k").values, tolerance);
    check_close(name, layer<Model>(cache, cache.values(), i), file.tensor<double>(name + ".v").values, tolerance);
  }
}

TEMPLATE_TEST_CASE("Greedy decoding", "[golden]", ReferenceFloat, CpuFloat) {
  using Model = typename TestType::template Model<modern_tiny>;
  const Golden file("modern_tiny.safetensors");
  const auto model = load_golden<Model>(file);
  const auto expected = file.tensor<std::int32_t>("out.greedy").values;
  typename Model::Cache cache;
  std::vector<llm::Token> ids(expected.begin(), expected.begin() + 7);
  auto logits = model.last_logits(Model::Ids::from(ids, {1, 7}), cache).to_vector();
  while (ids.size() < expected.size()) {
    ids.push_back(static_cast<llm::Token>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    logits = model.last_logits(Model::Ids::from({&ids.back(), 1}, {1, 1}), cache).to_vector();
  }
  CHECK(ids == expected);
}
