// Queries in float over keys and values in bf16.
// expect: llm::attention\(q \[B, T, H, E\], k \[B, S, K, E\], v \[B, S, K, E\]\): all must have the same element type and backend
// expect: Tensor<float.*Tensor<llm::bf16|TQ=float.*TK=llm::bf16
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/attention.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, dyn, 6, 32>>& q, const Tensor<llm::bf16, Shape<dyn, dyn, 2, 32>>& kv) {
  return llm::attention(q, kv, kv);
}
#else
auto f(const Tensor<float, Shape<dyn, dyn, 6, 32>>& q, const Tensor<float, Shape<dyn, dyn, 2, 32>>& kv) {
  return llm::attention(q, kv, kv);
}
#endif
