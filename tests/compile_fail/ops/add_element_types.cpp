// A sum of two element types.
// expect: llm::add\(a, b\), a \+ b: both tensors must have the same element type and backend
// expect: Tensor<float.*Tensor<double|TA=float.*TB=double
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/add.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, 48>>& a, const Tensor<double, Shape<dyn, 48>>& b) { return a + b; }
#else
auto f(const Tensor<float, Shape<dyn, 48>>& a, const Tensor<float, Shape<dyn, 48>>& b) { return a + b; }
#endif
