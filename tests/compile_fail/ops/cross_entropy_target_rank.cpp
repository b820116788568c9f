// Targets of the logits' rank, as if they were one-hot.
// expect: llm::cross_entropy\(logits \[\.\.\., V\], targets \[\.\.\.\]\): the targets must have one axis less than the logits
// expect: has_rank<4, 3>|SL=llm::Shape<.*ST=llm::Shape<
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/cross_entropy.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;
template <class S>
using Ids = llm::Tensor<llm::Token, S, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<dyn, dyn, 100>>& logits, const Ids<Shape<dyn, dyn, 100>>& targets) { return llm::cross_entropy(logits, targets); }
#else
auto f(const Tensor<Shape<dyn, dyn, 100>>& logits, const Ids<Shape<dyn, dyn>>& targets) { return llm::cross_entropy(logits, targets); }
#endif
