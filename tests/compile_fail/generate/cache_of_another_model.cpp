// The KV cache of a model of another config.
// expect: llm::LLM::last_logits\(ids \[B, T\], cache\): the cache must be a llm::KvCache of the model.s config and backend,
// expect: cache_of<.*deeper
#include <vector>

#include <llm/generate/generate.hpp>
#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

inline constexpr llm::Config deeper{.vocab_size = 32, .d_model = 16, .n_layers = 2, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};

#ifdef LLM_MUST_FAIL
using Cache = llm::KvCache<deeper>;
#else
using Cache = llm::KvCache<config>;
#endif
void f(llm::Session<Model, llm::NoDrafter, Cache>& session, const std::vector<llm::Token>& prompt) {
  for (auto token : llm::generate(session, prompt)) (void)token;
}
