// A layer in float applied to features in double.
// expect: llm::Linear::operator\(\)\(x \[\.\.\., In\]\): x must have the layer.s element type and backend
// expect: double.*float|T=float.*double
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/linear.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;
using Up = llm::Linear<48, 128, false, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Up& up, const Tensor<double, Shape<dyn, 48>>& x) { return up(x); }
#else
auto f(const Up& up, const Tensor<float, Shape<dyn, 48>>& x) { return up(x); }
#endif
