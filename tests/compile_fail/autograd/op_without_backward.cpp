// An op of the user's own that cannot run backwards.
// expect: llm::Tape::record\(y, op\): op needs a member function void backward\(\)
// expect: Negate
// nvcc: yes
#include <llm/autograd/gradient.hpp>
#include <llm/backend/reference/reference.hpp>

using Y = llm::Tensor<float, llm::Shape<>, llm::Reference>;
struct Negate {
  llm::Grad<float, llm::Reference> d_x, d_y;
#ifdef LLM_MUST_FAIL
  void vjp() { d_x.add(d_y); }
#else
  void backward() { d_x.add(d_y); }
#endif
};
void f(llm::Tape& tape, const Y& y, const Negate& op) { tape.record(y, op); }
