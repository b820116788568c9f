// Token ids of 64 bits.
// expect: llm::LLM::operator\(\)\(ids \[B, T\], cache\): ids must be a rank-2 tensor of llm::Token on the model.s backend \(hint:
// expect: Tensor<long
#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

using Wide = llm::Tensor<std::int64_t, llm::Shape<llm::dyn, llm::dyn>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const Wide& ids) { return model(ids); }
#else
auto f(const Model& model, const Model::Ids& ids) { return model(ids); }
#endif
