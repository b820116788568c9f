// A checkpoint with model and optimizer swapped.
// expect: llm::save_checkpoint\(folder, model, optimizer, data\): the optimizer must be the llm::AdamW of this type of model, after it
// expect: LLM<config.*AdamW<float
#include <llm/model.hpp>
#include <llm/train/checkpoint.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

using Optimizer = llm::AdamW<float, llm::Cpu>;

#ifdef LLM_MUST_FAIL
void f(const Model& model, const Optimizer& optimizer) { llm::save_checkpoint("run", optimizer, model, {}); }
#else
void f(const Model& model, const Optimizer& optimizer) { llm::save_checkpoint("run", model, optimizer, {}); }
#endif
