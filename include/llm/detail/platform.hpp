// The only file that tests compilers and platforms.
#pragma once

#if defined(__FAST_MATH__)
#error "llm: -ffast-math (and -Ofast) breaks the -inf of attention masks and the NaN checks of training; build without it"
#endif

#if defined(__CUDACC__)
#define LLM_HOST_DEVICE __host__ __device__
#else
#define LLM_HOST_DEVICE
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LLM_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define LLM_RESTRICT __restrict
#else
#define LLM_RESTRICT
#endif

// Functions for one instruction set carry the target themselves, so that a program needs no -march (docs/decisions.md).
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && !defined(__CUDACC__)
#define LLM_X86 1
#else
#define LLM_X86 0
#endif

// The thread-local pointer to the current tape must be one object across shared libraries, also under -fvisibility=hidden.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define LLM_SHARED __attribute__((visibility("default")))
#else
#define LLM_SHARED
#endif
