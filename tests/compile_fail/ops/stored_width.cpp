// A quantised matrix for another feature width.
// expect: llm::linear\(x \[\.\.\., K\], weight \[N, K\]\): the last extent of x must equal the weight.s columns
// expect: same_extent<64, 32>|SX=.*64>.*K=32
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/linear_stored.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, 64>>& x, const llm::StoredMatrix<16, 32, llm::Reference>& w) { return llm::linear(x, w); }
#else
auto f(const Tensor<Shape<dyn, 32>>& x, const llm::StoredMatrix<16, 32, llm::Reference>& w) { return llm::linear(x, w); }
#endif
