// The value of a tensor with many elements.
// expect: llm::Tensor::item\(\): the tensor must have exactly one element \(hint:
// expect: Shape<2, 3>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/tensor/tensor.hpp>

#ifdef LLM_MUST_FAIL
float f(const llm::Tensor<float, llm::Shape<2, 3>, llm::Reference>& x) { return x.item(); }
#else
float f(const llm::Tensor<float, llm::Shape<1, 1>, llm::Reference>& x) { return x.item(); }
#endif
