// A constant extent given at run time again.
// expect: no matching (function|constructor) for .*Shape<
// expect: OneExtentForEachDyn
#include <llm/core/shape.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Shape<llm::dyn, 48> shape(2, 48);
#else
inline constexpr llm::Shape<llm::dyn, 48> shape(2);
#endif
