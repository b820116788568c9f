// Tokens in place of batches.
// expect: llm::evaluate\(model, batches\): batches must be a range, not const, of inputs and targets \(hint:
// expect: vector<int
#include <vector>

#include <llm/model.hpp>
#include <llm/train/evaluate.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
double f(const Model& model, const std::vector<llm::Token>& tokens) { return llm::evaluate(model, tokens); }
#else
double f(const Model& model, const std::vector<llm::Token>& tokens) { return llm::evaluate(model, llm::sequential_windows(tokens, {})); }
#endif
