// The pinned program of the compile-time budget: one model, its forward, decoding and backward pass. LLM_LAYERS gives its depth.
#include <llm/model.hpp>

inline constexpr llm::Config pinned{.vocab_size = 32000,
                                    .d_model = 1536,
                                    .n_layers = LLM_LAYERS,
                                    .n_heads = 12,
                                    .n_kv_heads = 4,
                                    .head_dim = 128,
                                    .ffn_dim = 4096,
                                    .max_seq_len = 2048,
                                    .tie_embeddings = true};
using Model = llm::LLM<pinned>;

int main() {
  auto model = Model::random(1);
  const auto ids = Model::Ids::full({1, 8}, 1.0);
  Model::Cache cache(1, 16);
  const auto last = model.last_logits(ids, cache);
  llm::Tape tape;
  tape.backward(model.loss(ids, ids));
  return last.data()[0] == 0.0f;
}
