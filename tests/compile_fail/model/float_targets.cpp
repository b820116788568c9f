// Targets that are no token ids.
// expect: llm::LLM::loss\(inputs \[B, T\], targets \[B, T\], options\): inputs and targets must be rank-2 tensors of
// expect: Tensor<float
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const Model::Ids& ids, const llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn>, llm::Reference>& targets) {
  return model.loss(ids, targets);
}
#else
auto f(const Model& model, const Model::Ids& ids, const Model::Ids& targets) { return model.loss(ids, targets); }
#endif
