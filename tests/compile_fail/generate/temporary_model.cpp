// Generation from a model that is gone before the first token.
// expect: llm::generate\(model, \.\.\.\): the model or session is a temporary, which is gone before the first token \(hint:
// expect: LLM<config
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

void f(const std::vector<llm::Token>& prompt) {
#ifdef LLM_MUST_FAIL
  for (auto token : llm::generate(Model::random(1), prompt)) (void)token;
#else
  const auto model = Model::random(1);
  for (auto token : llm::generate(model, prompt)) (void)token;
#endif
}
