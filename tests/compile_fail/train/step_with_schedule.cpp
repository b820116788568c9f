// A schedule in place of its learning rate.
// expect: llm::AdamW::step\(lr, max_grad_norm\): the learning rate of this step comes first, a number, then at most the norm
// expect: that gradients are clipped to \(hint:
// expect: WarmupCosine
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>
#include <llm/train/schedule.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
void f(Model& model, const llm::WarmupCosine& schedule) { llm::AdamW(model).step(schedule); }
#else
void f(Model& model, const llm::WarmupCosine& schedule) { llm::AdamW(model).step(schedule(0)); }
#endif
