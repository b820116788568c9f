// A config that is known at run time only, as one that is read from a file.
// expect: llm::Config: the config of a type must be known to the compiler \(hint: inline constexpr llm::Config
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

#ifdef LLM_MUST_FAIL
llm::Config config{.vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

auto decode(const Model::Ids& ids) {
  auto model = Model::random(1);
  typename Model::Cache cache(1, 16);
  return model.last_logits(ids, cache);
}
