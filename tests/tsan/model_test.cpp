// One constant model that several threads run at once, each with a cache of its own; meant for the thread sanitizer.
#include <support/catch.hpp>

#include <thread>
#include <vector>

#include <llm/model.hpp>

namespace {

inline constexpr llm::Config small{.vocab_size = 96,
                                   .d_model = 256,
                                   .n_layers = 2,
                                   .n_heads = 4,
                                   .n_kv_heads = 2,
                                   .ffn_dim = 512,
                                   .max_seq_len = 96,
                                   .tie_embeddings = true};
using Model = llm::LLM<small>;

/// The most likely next token after the prompt, for some steps.
std::vector<llm::Token> continuation(const Model& model, llm::Token first) {
  Model::Cache cache(1, 80);
  auto ids = Model::Ids::full({1, 64}, static_cast<double>(first));
  std::vector<llm::Token> found;
  for (int step = 0; step < 8; ++step) {
    const std::vector<float> logits = model.last_logits(ids, cache).to_vector();
    std::size_t best = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) best = logits[i] > logits[best] ? i : best;
    found.push_back(static_cast<llm::Token>(best));
    ids = Model::Ids::full({1, 1}, static_cast<double>(best));
  }
  return found;
}

/// Calls f(i) for i in [0, count) on a thread each.
template <class F>
void on_threads(std::size_t count, const F& f) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("several threads generate from one constant model", "[tsan]") {
  llm::set_num_threads(2);
  const Model model = Model::random(1);
  std::vector<std::vector<llm::Token>> alone(4), together(4);
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] = continuation(model, static_cast<llm::Token>(i));
  on_threads(together.size(), [&](std::size_t i) { together[i] = continuation(model, static_cast<llm::Token>(i)); });
  REQUIRE(together == alone);
  llm::set_num_threads(0);
}

TEST_CASE("several threads train, each its own model", "[tsan]") {
  llm::set_num_threads(2);
  std::vector<float> losses(3);
  on_threads(losses.size(), [&](std::size_t i) {
    const Model model = Model::random(7);
    const auto ids = Model::Ids::full({2, 32}, 5.0);
    llm::Tape tape;
    const auto loss = model.loss(ids, ids);
    tape.backward(loss);
    losses[i] = loss.data()[0];
  });
  REQUIRE(losses[0] == losses[1]);
  REQUIRE(losses[0] == losses[2]);
  llm::set_num_threads(0);
}
