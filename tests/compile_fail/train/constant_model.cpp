// An optimizer for a model that must not change.
// expect: llm::AdamW\(model\): the model is const, but an optimizer changes its parameters
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(const Model& model) { llm::AdamW optimizer(model); }
#else
void f(Model& model) { llm::AdamW optimizer(model); }
#endif
