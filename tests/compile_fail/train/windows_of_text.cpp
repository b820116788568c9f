// Batches of a text that was not encoded.
// expect: llm::random_windows\(tokens, options\): tokens must be llm::Token, one after another in memory \(hint:
// expect: basic_string<char|std::string
#include <string>

#include <llm/model.hpp>
#include <llm/train/batches.hpp>

#ifdef LLM_MUST_FAIL
auto f(const std::string& text) { return llm::random_windows(text, {}); }
#else
auto f(const std::vector<llm::Token>& tokens) { return llm::random_windows(tokens, {}); }
#endif
