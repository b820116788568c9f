// Generation in a session that is const.
// expect: llm::generate\(session, \.\.\.\): the session is const, and would have to keep what it reads \(hint:
// expect: Session<.*LLM<config
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
using Session = const llm::Session<Model>;
#else
using Session = llm::Session<Model>;
#endif
void f(Session& session, const std::vector<llm::Token>& prompt) {
  for (auto token : llm::generate(session, prompt)) (void)token;
}
