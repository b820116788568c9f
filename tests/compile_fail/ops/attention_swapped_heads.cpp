// Fewer query heads than KV heads: q and k swapped.
// expect: llm::attention\(q \[B, T, H, E\], k \[B, S, K, E\], v \[B, S, K, E\]\): the query heads H must be a multiple of
// expect: multiple_of<2, 6>|SQ=.*2, 32>, SK=.*6, 32>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/attention.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, dyn, 2, 32>>& q, const Tensor<Shape<dyn, dyn, 6, 32>>& k, const Tensor<Shape<dyn, dyn, 6, 32>>& v) {
  return llm::attention(q, k, v);
}
#else
auto f(const Tensor<Shape<dyn, dyn, 6, 32>>& q, const Tensor<Shape<dyn, dyn, 2, 32>>& k, const Tensor<Shape<dyn, dyn, 2, 32>>& v) {
  return llm::attention(q, k, v);
}
#endif
