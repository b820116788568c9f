// Refuses a compiler flag that breaks what the whole library relies on.
#pragma once

#if defined(__FAST_MATH__)
#error "llm: -ffast-math (and -Ofast) breaks the -inf of attention masks and the NaN checks of training; build without it"
#endif
