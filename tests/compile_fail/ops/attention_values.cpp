// Values of another shape than the keys.
// expect: llm::attention\(q \[B, T, H, E\], k \[B, S, K, E\], v \[B, S, K, E\]\): k and v must have the same shape
// expect: Shape<-1, -1, 2, 32>.*Shape<-1, -1, 3, 32>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/attention.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, dyn, 6, 32>>& q, const Tensor<Shape<dyn, dyn, 2, 32>>& k, const Tensor<Shape<dyn, dyn, 3, 32>>& v) {
  return llm::attention(q, k, v);
}
#else
auto f(const Tensor<Shape<dyn, dyn, 6, 32>>& q, const Tensor<Shape<dyn, dyn, 2, 32>>& k, const Tensor<Shape<dyn, dyn, 2, 32>>& v) {
  return llm::attention(q, k, v);
}
#endif
