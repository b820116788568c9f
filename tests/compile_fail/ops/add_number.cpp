// A number added to a tensor.
// expect: llm::add\(a, b\), a \+ b: b must be a tensor \(hint:
// expect: Shape<-1, 32>.*float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/add.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, 32>>& x) { return x + 1.0f; }
#else
auto f(const Tensor<float, Shape<dyn, 32>>& x) { return x + Tensor<float, Shape<dyn, 32>>::full(x.shape(), 1.0); }
#endif
