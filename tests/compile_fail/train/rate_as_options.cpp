// A learning rate in place of the optimizer's options.
// expect: llm::AdamW\(model, options\): the second argument must be llm::AdamWOptions \(hint:
// expect: double
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(Model& model) { llm::AdamW optimizer(model, 3e-4); }
#else
void f(Model& model) { llm::AdamW optimizer(model, {.weight_decay = 0.0}); }
#endif
