// Memory of a loss over a large vocabulary: a chunk of logits at a time, with the numbers of the whole.
#include <algorithm>
#include <cmath>
#include <vector>

#include <support/catch.hpp>
#include <support/training.hpp>

using namespace llm_test;

namespace {

constexpr llm::Config large_vocabulary{.vocab_size = 128 * 1024,
                                       .d_model = 8,
                                       .n_layers = 1,
                                       .n_heads = 2,
                                       .n_kv_heads = 1,
                                       .head_dim = 4,
                                       .ffn_dim = 16,
                                       .max_seq_len = 512,
                                       .tie_embeddings = true};
using Model = llm::LLM<large_vocabulary>;
constexpr std::int64_t mega = 1024 * 1024;

struct Result {
  double loss;
  std::vector<float> gradients;
  std::int64_t peak;  // bytes above what the model takes
};

Result loss_and_gradients(Model& model, const Model::Ids& ids, std::int64_t chunk_bytes) {
  llm::TrainingOptions options;
  options.chunk_bytes = chunk_bytes;
  Result result;
  llm::reset_pool_high_water<llm::Cpu>();
  const std::int64_t before = llm::pool_statistics<llm::Cpu>().in_use;
  {
    llm::Tape tape;
    const auto loss = model.loss(ids, ids, options);
    result.loss = static_cast<double>(loss.item());
    tape.backward(loss);
  }
  result.peak = llm::pool_statistics<llm::Cpu>().high_water - before;
  model.for_each_parameter([&](auto& p) {
    for (const float value : p.tensor().grad().to_vector()) result.gradients.push_back(value);
    p.tensor().clear_grad();
  });
  return result;
}

}  // namespace

TEST_CASE("the loss of 512 positions over 128k tokens takes chunks, not 256 MB of logits [chunked_ce]") {
  auto model = Model::random(1);
  const auto ids = Model::Ids::from(learnable_tokens(512, Model::V), {1, 512});
  const Result chunked = loss_and_gradients(model, ids, 8 * mega), whole = loss_and_gradients(model, ids, 1024 * mega);
  CHECK(whole.peak > 256 * mega);
  CHECK(chunked.peak < 32 * mega);  // a chunk of 8, the gradient of the embedding's 4, activations
  CHECK(chunked.loss == Approx(whole.loss).epsilon(1e-6));
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
    worst = (std::max)(worst, static_cast<double>(std::abs(whole.gradients[i] - chunked.gradients[i])));
    largest = (std::max)(largest, static_cast<double>(std::abs(whole.gradients[i])));
  }
  CHECK(worst < 1e-5 * largest);
}
