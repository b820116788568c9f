// A model whose query and KV heads are swapped.
// expect: llm::Config: n_kv_heads is larger than n_heads: are they swapped
// expect: require<2, 6>|n_heads=2, n_kv_heads=6
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 2, .n_kv_heads = 6, .ffn_dim = 128, .max_seq_len = 32};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;
static_assert(Model::parameter_count == 58704);

auto train(const Model::Ids& ids, llm::Tape& tape) {
  auto model = Model::random(1);
  tape.backward(model.loss(ids, ids));
  return model(ids);
}
