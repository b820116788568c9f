// Batches of tokens that are gone before the first batch.
// expect: llm::random_windows\(tokens, options\): the tokens are a temporary, which is gone before the first batch \(hint:
// expect: vector<int
#include <llm/model.hpp>
#include <llm/text/char_tokenizer.hpp>
#include <llm/train/batches.hpp>

#ifdef LLM_MUST_FAIL
auto f(const llm::CharTokenizer& tokenizer) { return llm::random_windows(tokenizer.encode("to be or not"), {}); }
#else
auto f(const std::vector<llm::Token>& tokens) { return llm::random_windows(tokens, {}); }
#endif
