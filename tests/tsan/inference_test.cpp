// One frozen model, weights in block formats and a mixture of experts, that sessions, drafters and a batch of several threads share; meant
// for the thread sanitizer.
#include <support/catch.hpp>
#include <support/encoded_model.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include <llm/model.hpp>

namespace {

using Tokens = std::vector<llm::Token>;

inline constexpr llm::Config sparse{.vocab_size = 96,
                                    .d_model = 256,
                                    .n_layers = 3,
                                    .n_heads = 4,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 512,
                                    .max_seq_len = 96,
                                    .tie_embeddings = true,
                                    .experts = {.count = 4, .active = 2, .ffn_dim = 256, .first_dense = 1}};
using Model = llm::LLM<sparse, llm::Frozen>;

/// Matrices in one block format after another, vectors in f32.
Model make_model() {
  constexpr llm::DType formats[] = {llm::DType::q4_0, llm::DType::q8_0, llm::DType::q4_k, llm::DType::q6_k};
  return llm_test::encoded(llm::LLM<sparse>::random(3), [&](std::size_t at) { return formats[at % std::size(formats)]; });
}

Tokens prompt(std::size_t i) {
  Tokens ids;
  for (std::size_t k = 0; k < 20 + i; ++k) ids.push_back(static_cast<llm::Token>((k / 2 * 7 + i) % 96));
  return ids;
}
const llm::GenerateOptions options{.max_new_tokens = 10, .temperature = 0.8f, .top_k = 20, .seed = 5};

template <class Session>
Tokens two_turns(Session session, std::size_t i) {
  Tokens text = prompt(i);
  for (int turn = 0; turn < 2; ++turn)
    for (const llm::Token id : llm::generate(session, Tokens(text), options)) text.push_back(id);
  return text;
}

Tokens batch(const Model& model, std::size_t i) {
  Tokens all;
  const std::vector<Tokens> prompts{prompt(i), prompt(i + 1), prompt(i)};
  for (const auto& text : llm::generate_batch(model, prompts, options)) all.insert(all.end(), text.begin(), text.end());
  return all;
}

}  // namespace

TEST_CASE("several threads generate in all ways from one frozen model", "[tsan]") {
  llm::set_num_threads(2);
  const Model model = make_model(), small = make_model();
  const std::vector<std::function<Tokens()>> ways{
      [&] { return two_turns(llm::Session(model), 0); },
      [&] { return two_turns(llm::Session(model), 1); },
      [&] { return two_turns(llm::Session(model, llm::PromptLookup()), 2); },
      [&] { return two_turns(llm::Session(model, llm::DraftModel(small)), 3); },
      [&] { return batch(model, 4); },
      [&] { return batch(model.clone(), 5); },
  };
  std::vector<Tokens> alone, together(ways.size());
  for (const auto& way : ways) alone.push_back(way());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ways.size(); ++i) threads.emplace_back([&, i] { together[i] = ways[i](); });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    INFO("way " << i);
    CHECK(together[i] == alone[i]);
    CHECK(alone[i].size() >= 30);
  }
  llm::set_num_threads(0);
}
