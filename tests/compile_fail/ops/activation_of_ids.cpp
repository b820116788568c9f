// An activation of token ids.
// expect: llm::activation\(kind, x\), silu, gelu_\*: x must be float, double or llm::bf16
// expect: <int>|T=int32_t|T=int|T=llm::Token
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/activation.hpp>

using llm::dyn;
using llm::Shape;
template <class T, class S, class Backend = llm::Reference>
using Tensor = llm::Tensor<T, S, Backend>;

#ifdef LLM_MUST_FAIL
auto f(const Tensor<llm::Token, Shape<dyn, dyn>>& x) { return llm::silu(x); }
#else
auto f(const Tensor<float, Shape<dyn, dyn>>& x) { return llm::silu(x); }
#endif
