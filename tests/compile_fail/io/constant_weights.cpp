// Weights read into a model that must not change.
// expect: llm::load_weights\(folder, model\): the second argument must be a model, as llm::LLM is, and not const
// expect: const llm::LLM<config
#include <llm/model.hpp>
#include <llm/train/checkpoint.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(const Model& model) { llm::load_weights("run", model); }
#else
void f(Model& model) { llm::load_weights("run", model); }
#endif
