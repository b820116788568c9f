// A weight that is a vector.
// expect: llm::linear\(x \[\.\.\., K\], weight \[N, K\]\): the weight must have rank 2
// expect: has_rank<1, 2>|SW=llm::Shape<\d+>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/linear.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 32>>& x, const Tensor<Shape<32>>& w) { return llm::linear(x, w); }
#else
auto f(const Tensor<Shape<dyn, 32>>& x, const Tensor<Shape<1, 32>>& w) { return llm::linear(x, w); }
#endif
