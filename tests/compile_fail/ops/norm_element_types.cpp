// A gain in float for features in bf16.
// expect: llm::rms_norm\(x \[\.\.\., D\], gain \[D\]\): x and the gain must have the same element type and backend
// expect: bf16.*float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rms_norm.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<llm::bf16, Shape<dyn, 32>>& x, const Tensor<float, Shape<32>>& gain) { return llm::rms_norm(x, gain, 1e-5); }
#else
auto f(const Tensor<llm::bf16, Shape<dyn, 32>>& x, const Tensor<llm::bf16, Shape<32>>& gain) { return llm::rms_norm(x, gain, 1e-5); }
#endif
