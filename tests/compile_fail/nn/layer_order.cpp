// An MLP given the attention's split heads instead of the stream.
// expect: llm::linear\(x \[\.\.\., K\], weight \[N, K\]\): the last extent of x must equal the weight.s columns
// expect: same_extent<8, 48>|SX=.*8>, SW=.*48>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/mlp.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const llm::Linear<48, 128, false, llm::Trainable<float>, llm::Reference>& up, const Tensor<Shape<dyn, dyn, 6, 8>>& x) {
  return up(x);
}
#else
auto f(const llm::Linear<48, 128, false, llm::Trainable<float>, llm::Reference>& up, const Tensor<Shape<dyn, dyn, 48>>& x) { return up(x); }
#endif
