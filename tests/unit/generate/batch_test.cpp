// Several prompts at once give what each gives alone.
#include <llm/model.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <llm/core/rng.hpp>
#include <support/catch.hpp>

namespace {

using Tokens = std::vector<llm::Token>;

inline constexpr llm::Config grouped{
    .vocab_size = 29, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 48, .max_seq_len = 40};
inline constexpr llm::Config learned{.vocab_size = 29,
                                     .d_model = 32,
                                     .n_layers = 2,
                                     .n_heads = 4,
                                     .ffn_dim = 48,
                                     .max_seq_len = 40,
                                     .norm = llm::Norm::layer_norm,
                                     .position = llm::Position::learned,
                                     .mlp = llm::Mlp::gelu_tanh};
inline constexpr llm::Config window{.vocab_size = 29,
                                    .d_model = 32,
                                    .n_layers = 2,
                                    .n_heads = 4,
                                    .n_kv_heads = 1,
                                    .ffn_dim = 48,
                                    .max_seq_len = 40,
                                    .position = llm::Position::rope_interleaved,
                                    .sliding_window = 5};

template <const llm::Config& C>
struct Case {
  using Model = llm::LLM<C>;
};

/// Prompts of uneven lengths.
std::vector<Tokens> prompts() {
  std::vector<Tokens> out;
  llm::Rng rng(3);
  for (const std::size_t length : {3u, 11u, 1u, 7u, 1u}) {
    Tokens& prompt = out.emplace_back();
    while (prompt.size() < length) prompt.push_back(static_cast<llm::Token>(rng.below(29)));
  }
  return out;
}

/// Weights larger than those of the initialisation, so that what is drawn depends on the prompt.
template <class Model>
Model strong(std::uint64_t seed) {
  Model model = Model::random(seed);
  model.for_each_parameter([](auto& p) {
    if (p.kind() != llm::ParameterKind::matrix && p.kind() != llm::ParameterKind::residual_output) return;
    for (std::int64_t i = 0; i < p.numel(); ++i) p.tensor().data()[i] *= 10.0f;
  });
  return model;
}

template <class Model>
std::vector<float> last_row(const Model& model, const Tokens& ids) {
  const auto logits = model(Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())})).to_vector();
  return {logits.end() - Model::V, logits.end()};
}

}  // namespace

TEMPLATE_TEST_CASE("A batch of uneven prompts equals each alone: tokens [batch_pad]", "", Case<grouped>, Case<learned>, Case<window>) {
  const auto model = strong<typename TestType::Model>(11);
  const auto all = prompts();
  for (const float temperature : {0.0f, 1.0f}) {
    const auto together = llm::generate_batch(model, all, {.max_new_tokens = 20, .temperature = temperature, .seed = 4, .stream = 10});
    REQUIRE(together.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(together[i] ==
            llm::generate_tokens(model, all[i], {.max_new_tokens = 20, .temperature = temperature, .seed = 4, .stream = 10 + i}));
  }
}

TEMPLATE_TEST_CASE("A batch of uneven prompts equals each alone: logits to 1e-5 [batch_pad]", "", Case<grouped>, Case<learned>,
                   Case<window>) {
  using Model = typename TestType::Model;
  const auto model = strong<Model>(12);
  auto rows = prompts();
  typename Model::Cache cache(static_cast<std::int64_t>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    model.last_logits(Model::Ids::from(rows[i], {1, static_cast<std::int64_t>(rows[i].size())}), cache, static_cast<std::int64_t>(i));
  for (int step = 0; step < 6; ++step) {
    Tokens next;
    for (auto& row : rows) {
      next.push_back((row.back() * 7 + step) % 29);
      row.push_back(next.back());
    }
    const auto logits = model.last_logits(Model::Ids::from(next, {static_cast<std::int64_t>(rows.size()), 1}), cache).to_vector();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto alone = last_row(model, rows[i]);
      for (std::size_t v = 0; v < alone.size(); ++v)
        REQUIRE(std::abs(logits[i * alone.size() + v] - alone[v]) <= 1e-5f * (1 + std::abs(alone[v])));
    }
  }
}

TEST_CASE("Rows that a stop token ends leave the others as they are") {
  const auto model = strong<llm::LLM<grouped>>(13);
  const auto all = prompts();
  // Stop tokens taken from the middle of what is drawn, so that rows end at different steps.
  const auto free = llm::generate_batch(model, all, {.max_new_tokens = 20, .seed = 8});
  const llm::GenerateOptions stopping{
      .max_new_tokens = 20, .seed = 8, .stop = {.token_ids = {free[1][11 + 4], free[3][7 + 9], free[0][3]}}};
  const auto together = llm::generate_batch(model, all, stopping);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto alone = stopping;
    alone.stream = i;
    CHECK(together[i] == llm::generate_tokens(model, all[i], alone));
    lengths.push_back(together[i].size() - all[i].size());
  }
  CHECK(lengths[0] == 0);
  CHECK(lengths[1] <= 4);
  CHECK(lengths[3] <= 9);
}

TEST_CASE("Each row fills its own context, and a wrong prompt is refused before any computation") {
  const auto model = llm::LLM<grouped>::random(1);
  for (const auto& row : llm::generate_batch(model, prompts(), {.temperature = 0})) CHECK(row.size() == 40);
  CHECK(llm::generate_batch(model, std::vector<Tokens>{}).empty());
  CHECK(llm::generate_batch(model, prompts(), {.max_new_tokens = 0}) == prompts());
  auto wrong = prompts();
  wrong[3].push_back(29);
  CHECK_THROWS_AS(llm::generate_batch(model, wrong), llm::ValueError);
  CHECK_THROWS_AS(llm::generate_batch(model, prompts(), {.max_new_tokens = 30}), llm::ShapeError);
  wrong[3].clear();
  CHECK_THROWS_AS(llm::generate_batch(model, wrong), llm::ShapeError);
}
