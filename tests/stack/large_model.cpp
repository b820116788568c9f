// Constructs, runs and trains a model of 110M parameters; run under a stack of 256 KiB. [stack]
#include <cstdio>
#include <vector>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config large{.vocab_size = 32000,
                                   .d_model = 768,
                                   .n_layers = 12,
                                   .n_heads = 12,
                                   .n_kv_heads = 12,
                                   .ffn_dim = 2048,
                                   .max_seq_len = 1024,
                                   .tie_embeddings = true};
using Model = llm::LLM<large>;
static_assert(Model::parameter_count > 100'000'000);

int main() {
  auto model = Model::random(1);
  llm::AdamW optimizer(model);
  std::vector<llm::Token> values(2 * 24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<llm::Token>(i * 613 % 32000);
  const auto ids = Model::Ids::from(values, {2, 24});
  std::vector<float> losses;
  for (int step = 0; step < 2; ++step) {
    llm::Tape tape;
    const auto loss = model.loss(ids, llm::shift_labels(ids));
    losses.push_back(loss.item());
    tape.backward(loss);
    optimizer.step(1e-3, 1.0);
  }
  Model::Cache cache(1, 64);
  const auto logits = model.last_logits(Model::Ids::from({values.data(), 24}, {1, 24}), cache);
  std::printf("%lld parameters, loss %.3f then %.3f, %lld logits\n", static_cast<long long>(Model::parameter_count),
              static_cast<double>(losses[0]), static_cast<double>(losses[1]), static_cast<long long>(logits.numel()));
  return losses[1] < losses[0] ? 0 : 1;
}
