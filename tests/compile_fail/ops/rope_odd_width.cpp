// An odd rotated width.
// expect: llm::RopeTables<Width>: the rotated width must be even, since elements are turned in pairs
// expect: is_even<15>|15
// nvcc: yes
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rope.hpp>

template <class S>
using Tensor = llm::Tensor<float, S, llm::Reference>;
using llm::dyn;
using llm::Shape;

#ifdef LLM_MUST_FAIL
llm::RopeTables<15, llm::Reference> tables;
#else
llm::RopeTables<16, llm::Reference> tables;
#endif
