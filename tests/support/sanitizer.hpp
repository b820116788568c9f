// Which sanitizers a test runs under.
#pragma once

#if defined(__has_feature)
#define LLM_HAS_FEATURE(x) __has_feature(x)
#else
#define LLM_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || LLM_HAS_FEATURE(thread_sanitizer)
#define LLM_THREAD_SANITIZER 1
#else
#define LLM_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || LLM_HAS_FEATURE(address_sanitizer)
#define LLM_ADDRESS_SANITIZER 1
#else
#define LLM_ADDRESS_SANITIZER 0
#endif
