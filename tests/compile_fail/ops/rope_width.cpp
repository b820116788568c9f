// Rotating more of a head than there is.
// expect: llm::rope\(x \[B, T, H, E\], tables, positions\): the rotated width must not exceed the head width E
// expect: rope_fits<16, 32>|16.*32|32.*16
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rope.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, dyn, 2, 16>>& x, const llm::RopeTables<32, llm::Reference>& t) { return llm::rope(x, t, {}); }
#else
auto f(const Tensor<Shape<dyn, dyn, 2, 16>>& x, const llm::RopeTables<8, llm::Reference>& t) { return llm::rope(x, t, {}); }
#endif
