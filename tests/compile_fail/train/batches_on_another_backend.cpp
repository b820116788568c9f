// Batches on another backend than the model.
// expect: llm::LLM::loss\(inputs \[B, T\], targets \[B, T\], options\): inputs and targets must be rank-2 tensors of
// expect: Reference
#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <llm/train/evaluate.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
double f(const Model& model, std::span<const llm::Token> tokens) {
  return llm::evaluate(model, llm::sequential_windows<llm::Reference>(tokens, {}));
}
#else
double f(const Model& model, std::span<const llm::Token> tokens) { return llm::evaluate(model, llm::sequential_windows(tokens, {})); }
#endif
