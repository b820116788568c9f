// Tensors of two backends in one op.
// expect: llm::linear\(x \[\.\.\., K\], weight \[N, K\], bias \[N\]\): all must be tensors of the same element type and backend
// expect: Cpu.*Reference
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/linear.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<float, Shape<dyn, 32>, llm::Cpu>& x, const Tensor<float, Shape<16, 32>>& w) { return llm::linear(x, w); }
#else
auto f(const Tensor<float, Shape<dyn, 32>>& x, const Tensor<float, Shape<16, 32>>& w) { return llm::linear(x, w); }
#endif
