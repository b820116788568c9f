// A hook on the logits that does not take the ids.
// expect: llm::LogitsHook: must be callable as f\(std::span<float> logits, std::span<const llm::Token> ids\)
#include <span>
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
inline void hook(std::span<float> logits) { logits[0] = 0; }
#else
inline void hook(std::span<float> logits, std::span<const llm::Token>) { logits[0] = 0; }
#endif
void f(const Model& model, const std::vector<llm::Token>& prompt) {
  for (auto token : llm::generate(model, prompt, {.logits_hook = hook})) (void)token;
}
