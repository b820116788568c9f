// A checkpoint read into the optimizer of a model in another element type.
// expect: llm::load_checkpoint\(folder, model, optimizer\): the model must not be const, and the optimizer must be the
// expect: AdamW<double, llm::Cpu>.*LLM<config
#include <llm/model.hpp>
#include <llm/train/checkpoint.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(Model& model, llm::AdamW<double, llm::Cpu>& optimizer) { llm::load_checkpoint("run", model, optimizer); }
#else
void f(Model& model, llm::AdamW<float, llm::Cpu>& optimizer) { llm::load_checkpoint("run", model, optimizer); }
#endif
