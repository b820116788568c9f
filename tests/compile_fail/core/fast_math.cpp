// A program compiled with -ffast-math or -Ofast, which define this macro [fastmath].
// expect: llm: -ffast-math \(and -Ofast\) breaks the -inf of attention masks and the NaN checks of training; build without it
// nvcc: yes
#ifdef LLM_MUST_FAIL
#define __FAST_MATH__ 1
#include <llm/core/dtype.hpp>
#else
#include <llm/core/dtype.hpp>
#endif
