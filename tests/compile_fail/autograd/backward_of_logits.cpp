// Backward from logits instead of a loss.
// expect: llm::Tape::backward\(loss\): the loss must be a tensor of Shape<> \(hint:
// expect: Shape<-1, 97>
// nvcc: yes
#include <llm/autograd/tape.hpp>
#include <llm/backend/reference/reference.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
void f(llm::Tape& tape, const Tensor<float, Shape<dyn, 97>>& logits) { tape.backward(logits); }
#else
void f(llm::Tape& tape, const Tensor<float, Shape<>>& loss) { tape.backward(loss); }
#endif
