// An element type that no tensor can have.
// expect: llm::dtype_of<T>: T must be double, float, llm::bf16, llm::f16, int64_t, int32_t or uint8_t
// expect: short
// nvcc: yes
#include <llm/core/dtype.hpp>

#ifdef LLM_MUST_FAIL
constexpr auto type = llm::dtype_of<short>;
#else
constexpr auto type = llm::dtype_of<float>;
#endif
static_assert(type != llm::DType::q8_0);
