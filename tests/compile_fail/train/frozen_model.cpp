// An optimizer of a model whose weights are frozen.
// expect: llm::AdamW\(model, options\): the weights of the model are llm::Frozen and have no gradients
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};

#ifdef LLM_MUST_FAIL
using Model = llm::LLM<config, llm::Frozen, llm::Reference>;
#else
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;
#endif

void train(Model& model) {
  llm::AdamW optimizer(model, {.weight_decay = 0.1});
  optimizer.step(0.1);
}
