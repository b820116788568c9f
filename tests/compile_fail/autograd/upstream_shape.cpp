// An upstream gradient of another shape.
// expect: llm::Tape::backward\(y, d_y\): the gradient d_y must have the element type, shape and backend of y
// expect: Shape<-1, 97>.*Shape<-1, 96>
// nvcc: yes
#include <llm/autograd/tape.hpp>
#include <llm/backend/reference/reference.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
void f(llm::Tape& tape, const Tensor<float, Shape<dyn, 97>>& y, const Tensor<float, Shape<dyn, 96>>& d_y) { tape.backward(y, d_y); }
#else
void f(llm::Tape& tape, const Tensor<float, Shape<dyn, 97>>& y, const Tensor<float, Shape<dyn, 97>>& d_y) { tape.backward(y, d_y); }
#endif
