// A bias of another length than the outputs.
// expect: the bias must be as long as the weight has rows
// expect: same_extent<8, 16>|SW=.*16, .*SB=.*8>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/linear.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 32>>& x, const Tensor<Shape<16, 32>>& w, const Tensor<Shape<8>>& b) { return llm::linear(x, w, b); }
#else
auto f(const Tensor<Shape<dyn, 32>>& x, const Tensor<Shape<16, 32>>& w, const Tensor<Shape<16>>& b) { return llm::linear(x, w, b); }
#endif
