// An extent below zero that is not llm::dyn.
// expect: llm::Shape<Extents...>: an extent is llm::dyn or not negative
// expect: -5
// nvcc: yes
#include <llm/core/shape.hpp>

#ifdef LLM_MUST_FAIL
constexpr llm::Shape<4, -5> shape;
#else
constexpr llm::Shape<4, 5> shape;
#endif
static_assert(shape.rank == 2);
