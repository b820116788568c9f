// A loss together with a cache.
// expect: llm::LLM::loss\(inputs \[B, T\], targets \[B, T\], options\): .*and a loss takes no KV cache
// expect: KvCache
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const Model::Ids& ids, Model::Cache& cache) { return model.loss(ids, ids, cache); }
#else
auto f(const Model& model, const Model::Ids& ids, Model::Cache& cache) { return model(ids, cache); }
#endif
