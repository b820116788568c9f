// The number of threads does not change a bit of the logits, in a full pass, in prefill, and in decoding.
#include <llm/model.hpp>

#include <cstdint>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>

namespace {

using Tokens = std::vector<llm::Token>;

// Large enough that every kernel is past the size from which it uses threads.
inline constexpr llm::Config half{
    .vocab_size = 3000, .d_model = 192, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 512, .max_seq_len = 256};
inline constexpr llm::Config learned{.vocab_size = 3000,
                                     .d_model = 192,
                                     .n_layers = 2,
                                     .n_heads = 6,
                                     .ffn_dim = 768,
                                     .max_seq_len = 256,
                                     .norm = llm::Norm::layer_norm,
                                     .position = llm::Position::learned,
                                     .mlp = llm::Mlp::gelu_erf,
                                     .qkv_bias = true};

template <const llm::Config& C, class T = float>
struct Case {
  using Model = llm::LLM<C, llm::Trainable<T>>;
};

/// Every logit of: a full pass of 3 x 200 ids, prefill of 3 x 190, and 10 steps.
template <class Model>
std::vector<typename Model::T> all_logits(const Model& model) {
  constexpr std::int64_t rows = 3, length = 200, prefill = 190;
  Tokens ids, start;
  llm::Rng rng(2);
  while (ids.size() < rows * length) ids.push_back(static_cast<llm::Token>(rng.below(3000)));
  for (std::int64_t b = 0; b < rows; ++b)
    for (std::int64_t t = 0; t < prefill; ++t) start.push_back(ids[static_cast<std::size_t>(b * length + t)]);

  auto out = model(Model::Ids::from(ids, {rows, length})).to_vector();
  const auto add = [&](const auto& logits) {
    const auto values = logits.to_vector();
    out.insert(out.end(), values.begin(), values.end());
  };
  typename Model::Cache cache(rows, length);
  add(model.last_logits(Model::Ids::from(start, {rows, prefill}), cache));
  for (std::int64_t t = prefill; t < length; ++t) {
    Tokens next;
    for (std::int64_t b = 0; b < rows; ++b) next.push_back(ids[static_cast<std::size_t>(b * length + t)]);
    add(model.last_logits(Model::Ids::from(next, {rows, 1}), cache));
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("1, 2 and 8 threads: the same bits [threads]", "", Case<half>, Case<learned>, (Case<half, llm::bf16>)) {
  using Model = typename TestType::Model;
  std::vector<std::vector<typename Model::T>> results;
  for (const int threads : {1, 2, 8}) {
    llm::set_num_threads(threads);
    const auto model = Model::random(3);  // its numbers may not depend on them either
    results.push_back(all_logits(model));
  }
  llm::set_num_threads(0);
  for (const auto& result : results) {
    REQUIRE(result.size() == results[0].size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < result.size(); ++i) different += static_cast<float>(result[i]) != static_cast<float>(results[0][i]);
    CHECK(different == 0);
  }
}

TEST_CASE("Generation draws the same tokens with 1, 2 and 8 threads [threads]") {
  const auto model = llm::LLM<half>::random(4);
  std::vector<Tokens> results;
  for (const int threads : {1, 2, 8}) {
    llm::set_num_threads(threads);
    results.push_back(llm::generate_tokens(model, Tokens{1, 2, 3}, {.max_new_tokens = 20, .top_k = 50, .seed = 9}));
  }
  llm::set_num_threads(0);
  CHECK(results[1] == results[0]);
  CHECK(results[2] == results[0]);
}
