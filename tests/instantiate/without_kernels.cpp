// A user of kernels that a library owns: trains a step in each type, and decodes with stored weights and a cache in bf16.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <llm/model.hpp>
#include <llm/model/freeze.hpp>
#include <llm/train/adamw.hpp>

namespace {

constexpr llm::Config small{.vocab_size = 64,
                            .d_model = 32,
                            .n_layers = 2,
                            .n_heads = 4,
                            .n_kv_heads = 2,
                            .ffn_dim = 64,
                            .max_seq_len = 16,
                            .experts = {.count = 4, .active = 2, .ffn_dim = 32, .first_dense = 1}};

template <class T>
std::int64_t train_and_decode() {
  using Model = llm::LLM<small, llm::Trainable<T>>;
  Model model = Model::random(1);
  const auto ids = Model::Ids::from(std::vector<llm::Token>{1, 2, 3, 4}, {1, 4});
  llm::AdamW optimizer(model);
  llm::Tape tape;
  const auto loss = model.loss(ids, ids);
  tape.backward(loss);
  optimizer.step(1e-3);
  llm::KvCache<small, llm::bf16> cache;
  return llm::freeze(model).last_logits(ids, cache).numel();
}

}  // namespace

int main() {
  const std::int64_t logits = train_and_decode<float>() + train_and_decode<double>() + train_and_decode<llm::bf16>();
  std::printf("%lld logits\n", static_cast<long long>(logits));
  return logits == 3 * small.vocab_size ? 0 : 1;
}
