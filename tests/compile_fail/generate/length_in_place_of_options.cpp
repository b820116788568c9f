// The number of new tokens in place of the options.
// expect: llm::generate\(model, prompt, options\): the options must be llm::GenerateOptions \(hint:
// expect: are_options<int>
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

void f(const Model& model, const std::vector<llm::Token>& prompt) {
#ifdef LLM_MUST_FAIL
  for (auto token : llm::generate(model, prompt, 32)) (void)token;
#else
  for (auto token : llm::generate(model, prompt, {.max_new_tokens = 32})) (void)token;
#endif
}
