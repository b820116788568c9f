// A model whose layers alternate between a window and full attention, as Gemma 2.
// expect: llm::LLM: layers of two kinds are not built yet: full_attention_every must be 0
// expect: require<2, 0>|full_attention_every=2, built=0
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
                                    .sliding_window = 8,
                                    .full_attention_every = 2};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32, .sliding_window = 8};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

auto decode(const Model::Ids& ids) {
  auto model = Model::random(1);
  typename Model::Cache cache(1, 16);
  return model.last_logits(ids, cache);
}
