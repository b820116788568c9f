// A LayerNorm whose bias has another width.
// expect: llm::layer_norm\(x \[\.\.\., D\], gain \[D\], bias \[D\]\): the bias must be as long as the last extent of x
// expect: same_extent<64, 32>|S=.*64>.*SB=.*32>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/layer_norm.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<64>>& gain, const Tensor<Shape<32>>& bias) {
  return llm::layer_norm(x, gain, bias, 1e-5);
}
#else
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<64>>& gain, const Tensor<Shape<64>>& bias) {
  return llm::layer_norm(x, gain, bias, 1e-5);
}
#endif
