// Hidden states of single layers, of a prompt and while tokens are drawn.
#include <llm/model.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <llm/model/freeze.hpp>
#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm_test::modern_words;
using llm_test::Tokens;
using Model = llm::LLM<modern_words>;
inline constexpr llm::Config post_words = [] {
  llm::Config c = modern_words;
  c.norm_position = llm::NormPosition::post;
  return c;
}();

template <class M>
typename M::Ids ids_of(const Tokens& ids) {
  return M::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())});
}

template <class M>
void check_layers(const M& model) {
  const auto ids = ids_of<M>(llm_test::words(20, 1));
  const auto all = model.hidden_states(ids);
  REQUIRE(static_cast<std::int64_t>(all.size()) == M::hidden_count);
  for (std::int64_t layer = 0; layer < M::hidden_count; ++layer)
    CHECK(model.hidden_states(ids, std::vector<std::int64_t>{layer})[0].to_vector() == all[static_cast<std::size_t>(layer)].to_vector());
  const auto some = model.hidden_states(ids, std::vector<std::int64_t>{2, 0, 2});
  CHECK(some[0].to_vector() == all[2].to_vector());
  CHECK(some[1].to_vector() == all[0].to_vector());
  CHECK(some[2].to_vector() == all[2].to_vector());
  CHECK(model.hidden_states(ids, {}).empty());
  for (const std::int64_t wrong : {std::int64_t{-1}, M::hidden_count})
    CHECK_THROWS_AS(model.hidden_states(ids, std::vector<std::int64_t>{wrong}), llm::ValueError);

  // With a cache: the same, for the new positions alone.
  typename M::Cache cache(1);
  typename M::HiddenStates hidden{{1, M::hidden_count - 1}};
  model.last_logits(ids, cache, 0, &hidden);
  CHECK(hidden.states[0].to_vector() == all[1].to_vector());
  CHECK(hidden.states[1].to_vector() == all.back().to_vector());
  hidden.layers = {M::hidden_count};
  CHECK_THROWS_AS(model(ids, cache, 0, &hidden), llm::ValueError);
  CHECK(cache.length() == 20);
}

}  // namespace

TEST_CASE("Hidden states of some layers are those of all") {
  check_layers(llm_test::strong<Model>(1));
  check_layers(llm_test::strong<llm::LLM<post_words>>(2));
  check_layers(llm::freeze(llm_test::strong<Model>(3)));
}

TEST_CASE("Layers that are not asked for are not computed") {
  auto model = llm_test::strong<Model>(4);
  model.for_each_parameter([](auto& p) {  // would spoil everything behind it
    if (p.name() == "model.layers.1.self_attn.q_proj.weight") p.tensor().data()[0] = std::nanf("");
  });
  for (const float x : model.hidden_states(ids_of<Model>(llm_test::words(9, 1)), std::vector<std::int64_t>{0, 1})[1].to_vector())
    CHECK(std::isfinite(x));
}

TEST_CASE("While tokens are drawn, the states are those of the position they are drawn from") {
  const auto model = llm_test::strong<Model>(5);
  const Tokens prompt{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2};
  const auto check = [&](auto& source) {
    Tokens seen = prompt;
    auto stream = llm::generate(source, prompt, {.max_new_tokens = 25, .temperature = 0, .hidden_layers = {0, 3, 1}});
    CHECK_THROWS_AS(stream.hidden_state(0), llm::ValueError);
    for (const llm::Token token : stream) {
      const auto all = model.hidden_states(ids_of<Model>(seen));
      for (const auto& [number, layer] : {std::pair{0u, 0u}, {1u, 3u}, {2u, 1u}}) {
        const auto expected = all[layer].to_vector();
        const auto state = stream.hidden_state(number);
        REQUIRE(state.size() == 32);
        for (std::size_t d = 0; d < 32; ++d) CHECK(std::abs(state[d] - expected[expected.size() - 32 + d]) < 2e-4f);
      }
      seen.push_back(token);
    }
    CHECK_THROWS_AS(stream.hidden_state(3), llm::ValueError);
  };
  check(model);
  llm::Session session(model, llm::PromptLookup());
  check(session);
  // A step that throws leaves the states of the token drawn last.
  for (const std::size_t length : {13u, 14u, 17u}) {
    bool fails = true;
    const auto failing = [&](std::span<float>, std::span<const llm::Token> ids) {
      if (fails && ids.size() == length) throw llm::ValueError("not now");
    };
    const auto states = [&](auto& source) {
      std::vector<std::vector<float>> out;
      auto stream = llm::generate(source, prompt, {.max_new_tokens = 9, .temperature = 0, .hidden_layers = {2}, .logits_hook = failing});
      for (auto it = stream.begin(); it != stream.end();) {
        out.emplace_back(stream.hidden_state(0).begin(), stream.hidden_state(0).end());
        try {
          ++it;
        } catch (const llm::ValueError&) {
          CHECK(stream.sequence().size() == length);
          CHECK(std::equal(out.back().begin(), out.back().end(), stream.hidden_state(0).begin()));
          fails = false;
          ++it;
        }
      }
      CHECK(!fails);
      return out;
    };
    fails = true;
    CHECK(states(model).size() == 9);
    fails = true;
    llm::Session again(model, llm::PromptLookup());
    CHECK(states(again).size() == 9);
  }
  CHECK(llm_test::message_of([&] { llm::generate(model, prompt, {.hidden_layers = {4}}); }) ==
        "llm::generate: hidden_layers has 4, expected 0 to 3");
  llm::PromptBatch batch(model);
  CHECK_THROWS_AS(batch.add(prompt, {.hidden_layers = {0}}), llm::ValueError);
}
