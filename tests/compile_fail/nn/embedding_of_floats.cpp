// An embedding of numbers that are no ids.
// expect: llm::embedding\(ids \[\.\.\.\], table \[V, D\]\): ids must be int32 or int64, the table comes second
// expect: is_token_id<float>|Index=float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/nn/embedding.hpp>

template <class T, class S>
using Tensor = llm::Tensor<T, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

using Table = llm::Embedding<97, 48, float, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Table& table, const Tensor<float, Shape<dyn, dyn>>& ids) { return table(ids); }
#else
auto f(const Table& table, const Tensor<llm::Token, Shape<dyn, dyn>>& ids) { return table(ids); }
#endif
