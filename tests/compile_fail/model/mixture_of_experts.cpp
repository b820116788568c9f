// A model of a config that is counted but not built yet: a mixture of experts.
// expect: llm::LLM: a mixture of experts is counted but not built yet
// expect: require<8, 0>|count=8, built=0
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .experts = {.count = 8, .active = 2}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

auto decode(const Model::Ids& ids) {
  auto model = Model::random(1);
  typename Model::Cache cache(1, 16);
  return model.last_logits(ids, cache);
}
