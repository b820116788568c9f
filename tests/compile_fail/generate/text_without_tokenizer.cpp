// A text to continue without a tokenizer.
// expect: llm::generate\(model, prompt, options\): the prompt must be llm::Token, one after another in memory \(hint:
// expect: char ?\[6\]
#include <llm/generate/generate.hpp>
#include <llm/model.hpp>
#include <llm/text/char_tokenizer.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

void f(const Model& model, const llm::CharTokenizer& tokenizer) {
#ifdef LLM_MUST_FAIL
  for (auto piece : llm::generate(model, "To be")) (void)tokenizer, (void)piece;
#else
  for (auto piece : llm::generate(model, tokenizer, "To be")) (void)piece;
#endif
}
