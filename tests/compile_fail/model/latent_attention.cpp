// A model with multi-head latent attention, which is counted but not built yet.
// expect: llm::LLM: multi-head latent attention is counted but not built yet
// expect: require<16, 0>|kv_rank=16, built=0
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 4,
                                    .n_heads = 6,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .mla = {.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .v_dim = 8}};
#else
inline constexpr llm::Config config{.vocab_size = 97, .d_model = 48, .n_layers = 4, .n_heads = 6, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

auto decode(const Model::Ids& ids) {
  auto model = Model::random(1);
  typename Model::Cache cache(1, 16);
  return model.last_logits(ids, cache);
}
