// Targets in place of the logits.
// expect: llm::cross_entropy\(logits \[\.\.\., V\], targets \[\.\.\.\]\): targets must be int32 or int64, the logits come first
// expect: is_token_id<float>|Index=float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/cross_entropy.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, 97>>& logits, const Tensor<llm::Token, Shape<dyn>>& targets) {
  return llm::cross_entropy(targets, logits);
}
#else
auto f(const Tensor<float, Shape<dyn, 97>>& logits, const Tensor<llm::Token, Shape<dyn>>& targets) {
  return llm::cross_entropy(logits, targets);
}
#endif
