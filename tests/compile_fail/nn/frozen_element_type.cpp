// A frozen layer applied to features in bf16.
// expect: llm::Linear::operator\(\)\(x \[\.\.\., In\]\): a frozen layer takes float on the layer.s backend
// expect: bf16
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/linear.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

using Up = llm::Linear<48, 128, false, llm::Frozen, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Up& up, const Tensor<llm::bf16, Shape<dyn, 48>>& x) { return up(x); }
#else
auto f(const Up& up, const Tensor<float, Shape<dyn, 48>>& x) { return up(x); }
#endif
