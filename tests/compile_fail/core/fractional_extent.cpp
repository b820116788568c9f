// An extent that is no whole number.
// expect: no matching (function|constructor) for .*Shape<
// expect: ExtentValue.*double|double.*ExtentValue
#include <llm/core/shape.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Shape<llm::dyn, 48> shape(2.5);
#else
inline constexpr llm::Shape<llm::dyn, 48> shape(2);
#endif
