// Gate and up projections of different widths.
// expect: llm::gated\(kind, gate, up\), swiglu\(gate, up\): both tensors must have the same shape
// expect: Shape<-1, 96>.*Shape<-1, 64>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/activation.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 96>>& gate, const Tensor<Shape<dyn, 64>>& up) { return llm::swiglu(gate, up); }
#else
auto f(const Tensor<Shape<dyn, 96>>& gate, const Tensor<Shape<dyn, 96>>& up) { return llm::swiglu(gate, up); }
#endif
