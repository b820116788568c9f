// Token ids in a vector.
// expect: llm::LLM::operator\(\)\(ids \[B, T\], cache\): ids must be a rank-2 tensor of llm::Token on the model.s backend \(hint:
// expect: vector<int
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/model/llm.hpp>

inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Model& model, const std::vector<llm::Token>& ids) { return model(ids); }
#else
auto f(const Model& model, const std::vector<llm::Token>& ids) {
  return model(Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())}));
}
#endif
