// Generation from something that is no model.
// expect: llm::generate\(model, \.\.\.\): the first argument must be a model, as llm::LLM is
// expect: Linear<16, 32
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

void f(const Model& model, const llm::Linear<16, 32>& head, const std::vector<llm::Token>& prompt) {
#ifdef LLM_MUST_FAIL
  for (auto token : llm::generate(head, prompt)) (void)token, (void)model;
#else
  for (auto token : llm::generate(model, prompt)) (void)token, (void)head;
#endif
}
