// An MLP applied to a stream of another width.
// expect: llm::GatedMlp::operator\(\)\(x \[\.\.\., D\]\): x must have the layer.s width, element type and backend
// expect: Shape<-1, -1, 64>.*48\b|48\b.*Shape<-1, -1, 64>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/mlp.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

using Mlp = llm::SwiGlu<48, 128, false, llm::Trainable<float>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Mlp& mlp, const Tensor<float, Shape<dyn, dyn, 64>>& x) { return mlp(x); }
#else
auto f(const Mlp& mlp, const Tensor<float, Shape<dyn, dyn, 48>>& x) { return mlp(x); }
#endif
