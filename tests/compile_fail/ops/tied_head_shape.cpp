// An output head tied to a table of another width.
// expect: llm::head_loss\(x \[\.\.\., D\], weight \[V, D\], targets \[\.\.\.\]\): the last extent of x must equal the weight.s columns
// expect: same_extent<64, 32>|SX=.*64>, SW=.*32>
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/head_loss.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;
using Ids = llm::Tensor<llm::Token, Shape<dyn, dyn>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, dyn, 64>>& x, const Tensor<Shape<100, 32>>& table, const Ids& targets) {
  return llm::head_loss(x, table, targets);
}
#else
auto f(const Tensor<Shape<dyn, dyn, 64>>& x, const Tensor<Shape<100, 64>>& table, const Ids& targets) {
  return llm::head_loss(x, table, targets);
}
#endif
