// An optimizer for a layer, which lists no parameters as a model does.
// expect: llm::AdamW\(model, options\): the first argument must be a model, as llm::LLM is
// expect: Linear<16, 32
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(llm::Linear<16, 32>& model) { llm::AdamW optimizer(model); }
#else
void f(Model& model) { llm::AdamW optimizer(model); }
#endif
