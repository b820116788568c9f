// A KV cache that must not change.
// expect: llm::LLM::last_logits\(ids \[B, T\], cache\): the cache must be a llm::KvCache of the model.s config and backend,
// expect: const llm::KvCache|const llm::KvCache<config
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const Model::Ids& ids, const Model::Cache& cache) { return model.last_logits(ids, cache); }
#else
auto f(const Model& model, const Model::Ids& ids, Model::Cache& cache) { return model.last_logits(ids, cache); }
#endif
