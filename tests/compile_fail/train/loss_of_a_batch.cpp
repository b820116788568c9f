// The number of a loss that is no scalar.
// expect: llm::finite_loss\(loss\): the loss must be a tensor of Shape<>, as LLM::loss gives
// expect: Shape<-1, -1, 32>
#include <llm/model.hpp>
#include <llm/train/evaluate.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};
using Model = llm::LLM<config>;

#ifdef LLM_MUST_FAIL
double f(const Model& model, const Model::Ids& ids) { return llm::finite_loss(model(ids)); }
#else
double f(const Model& model, const Model::Ids& ids) { return llm::finite_loss(model.loss(ids, ids)); }
#endif
