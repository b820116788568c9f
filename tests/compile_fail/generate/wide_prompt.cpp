// A prompt of 64-bit ids.
// expect: llm::generate\(model, prompt, options\): the prompt must be llm::Token, one after another in memory \(hint:
// expect: vector<long
#include <cstdint>
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
using Prompt = std::vector<std::int64_t>;
#else
using Prompt = std::vector<llm::Token>;
#endif
void f(const Model& model, const Prompt& prompt) {
  for (auto token : llm::generate(model, prompt, {.max_new_tokens = 3})) (void)token;
}
