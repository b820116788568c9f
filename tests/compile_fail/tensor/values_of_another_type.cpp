// A tensor from values of another element type.
// expect: llm::Tensor<T, S, Backend>::from\(values, shape\): the values must be T, one after another in memory, as
// expect: vector<double
// nvcc: yes
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/tensor/tensor.hpp>

using Tensor = llm::Tensor<float, llm::Shape<2, 3>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const std::vector<double>& values) { return Tensor::from(values); }
#else
auto f(const std::vector<float>& values) { return Tensor::from(values); }
#endif
