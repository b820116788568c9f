// Embedding with table and ids swapped.
// expect: llm::embedding\(ids \[\.\.\.\], table \[V, D\]\): ids must be int32 or int64, the table comes second
// expect: is_token_id<float>|Index=float
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/embedding.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;
using Ids = llm::Tensor<llm::Token, Shape<dyn, dyn>, llm::Reference>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<Shape<100, 32>>& table, const Ids& ids) { return llm::embedding(table, ids); }
#else
auto f(const Tensor<Shape<100, 32>>& table, const Ids& ids) { return llm::embedding(ids, table); }
#endif
