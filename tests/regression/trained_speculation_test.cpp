// Speculative decoding of trained models: the tokens of plain decoding, and drafts that are mostly right.
#include <llm/model.hpp>

#include <cstdint>
#include <vector>

#include <support/catch.hpp>
#include <support/generation.hpp>
#include <support/training.hpp>

namespace {

inline constexpr llm::Config large{
    .vocab_size = 31, .d_model = 48, .n_layers = 3, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 96, .max_seq_len = 200, .qk_norm = true};
inline constexpr llm::Config small{
    .vocab_size = 31, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 24, .max_seq_len = 200, .tie_embeddings = true};

template <class Model>
Model trained(std::uint64_t seed) {
  llm_test::Training<Model> training(seed, 150, 1e-2);
  training.train(150);
  CHECK(training.losses.back() < 0.6 * training.losses.front());
  return std::move(training.model);
}

template <class Session>
llm::SpeculationCounts check(Session&& session, const llm_test::Tokens& prompt, const llm::GenerateOptions& options) {
  auto stream = llm::generate(session, prompt, options);
  for (auto it = stream.begin(); it != stream.end(); ++it) {
  }
  CHECK(stream.sequence() == llm::generate_tokens(session.model(), prompt, options));
  return stream.speculation();
}

}  // namespace

TEST_CASE("Drafts of a trained model are mostly right, and do not change the tokens") {
  const auto model = trained<llm::LLM<large>>(1);
  const auto drafter = trained<llm::LLM<small>>(2);
  llm::SpeculationCounts drafted, looked_up;
  const auto add = [](llm::SpeculationCounts& sum, const llm::SpeculationCounts& counts) {
    sum.passes += counts.passes;
    sum.drafted += counts.drafted;
    sum.accepted += counts.accepted;
  };
  for (llm::Token first = 0; first < 31; first += 3) {
    const llm_test::Tokens prompt{first};
    for (const float penalty : {1.0f, 1.1f}) {
      const llm::GenerateOptions greedy{.max_new_tokens = 150, .temperature = 0, .repetition_penalty = penalty};
      add(drafted, check(llm::Session(model, llm::DraftModel(drafter)), prompt, greedy));
      add(looked_up, check(llm::Session(model, llm::PromptLookup()), prompt, greedy));
    }
    check(llm::Session(model, llm::PromptLookup()), prompt, {.max_new_tokens = 150, .seed = 3});
  }
  INFO(drafted.accepted << " of " << drafted.drafted << ", " << looked_up.accepted << " of " << looked_up.drafted);
  CHECK(drafted.accepted > drafted.drafted / 2);
  CHECK(looked_up.accepted > looked_up.drafted / 2);
}
