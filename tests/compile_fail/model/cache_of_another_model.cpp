// The KV cache of a model of another config.
// expect: llm::LLM::operator\(\)\(ids \[B, T\], cache\): the cache must be a llm::KvCache of the model.s config and backend,
// expect: cache_of<.*larger
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

inline constexpr llm::Config larger{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 6, .ffn_dim = 128, .max_seq_len = 32};

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const Model::Ids& ids, llm::KvCache<larger, float, llm::Reference>& cache) { return model(ids, cache); }
#else
auto f(const Model& model, const Model::Ids& ids, llm::KvCache<config, float, llm::Reference>& cache) { return model(ids, cache); }
#endif
