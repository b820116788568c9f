// A view of another number of elements.
// expect: llm::Tensor::view<To>: the new shape must have as many elements as the old one
// expect: Shape<4, 6>.*Shape<5, 5>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/tensor/tensor.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<4, 6>>& x) { return x.view<Shape<5, 5>>(); }
#else
auto f(const Tensor<Shape<4, 6>>& x) { return x.view<Shape<3, 8>>(); }
#endif
