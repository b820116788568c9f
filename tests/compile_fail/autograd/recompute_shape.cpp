// Recompute of a function that changes the shape.
// expect: llm::recompute\(f, x\): f\(x\) must have the element type, shape and backend of x
// expect: Shape<-1, 48>.*Shape<-1, 64>|Shape<-1, 64>.*S=llm::Shape<-1, 48>
// nvcc: yes
#include <llm/autograd/recompute.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/linear.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

using X = Tensor<float, Shape<dyn, 48>>;
template <std::int64_t N>
using Weight = Tensor<float, Shape<N, 48>>;

#ifdef LLM_MUST_FAIL
auto f(const X& x, const Weight<64>& weight) {
  return llm::recompute([&](const X& in) { return llm::linear(in, weight); }, x);
}
#else
auto f(const X& x, const Weight<48>& weight) {
  return llm::recompute([&](const X& in) { return llm::linear(in, weight); }, x);
}
#endif
