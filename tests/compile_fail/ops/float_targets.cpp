// Targets that are no token ids.
// expect: llm::head_loss\(x \[\.\.\., D\], weight \[V, D\], targets \[\.\.\.\]\): targets must be int32 or int64, they come last
// expect: is_token_id<float>|Index=float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/head_loss.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, 64>>& x, const Tensor<float, Shape<97, 64>>& w, const Tensor<float, Shape<dyn>>& targets) {
  return llm::head_loss(x, w, targets);
}
#else
auto f(const Tensor<float, Shape<dyn, 64>>& x, const Tensor<float, Shape<97, 64>>& w, const Tensor<llm::Token, Shape<dyn>>& targets) {
  return llm::head_loss(x, w, targets);
}
#endif
