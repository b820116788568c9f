// A norm whose gain has another width.
// expect: llm::rms_norm\(x \[\.\.\., D\], gain \[D\]\): the gain must be as long as the last extent of x
// expect: same_extent<64, 128>|S=.*64>, SG=.*128>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rms_norm.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<128>>& gain) { return llm::rms_norm(x, gain, 1e-5); }
#else
auto f(const Tensor<Shape<dyn, 64>>& x, const Tensor<Shape<64>>& gain) { return llm::rms_norm(x, gain, 1e-5); }
#endif
