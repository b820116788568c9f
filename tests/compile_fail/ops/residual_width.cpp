// A residual connection between different widths.
// expect: llm::add\(a, b\), a \+ b: both tensors must have the same shape
// expect: same_shape<.*Shape<-1, 64>, .*Shape<-1, 32>|same_shape<.*Shape<-1, 64>.*Shape<-1, 32>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/add.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<dyn, 32>>& y) { return x + y; }
#else
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<dyn, 64>>& y) { return x + y; }
#endif
