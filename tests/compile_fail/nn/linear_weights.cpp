// A layer whose weights are not said to be trainable or frozen.
// expect: llm::Linear<In, Out, HasBias, Weights, Backend>: Weights must be llm::Trainable<T> with T float, double or
// expect: trainable_weights<float>|Weights=float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/linear.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
using Up = llm::Linear<48, 128, false, float, llm::Reference>;
#else
using Up = llm::Linear<48, 128, false, llm::Trainable<float>, llm::Reference>;
#endif
auto f(const Up& up, const Tensor<float, Shape<dyn, 48>>& x) { return up(x); }
