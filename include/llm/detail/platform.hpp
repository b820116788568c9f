// What differs between compilers and platforms. Only this folder tests for them, and what carries the target of an instruction set.
#pragma once

#include <cstddef>
#include <cstdlib>
#if defined(_WIN32)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <llm/detail/no_fast_math.hpp>

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

// For what the innermost loops call: in large programs compilers stop inlining small functions, and a call saves every vector register.
#if defined(__GNUC__) || defined(__clang__)
#define LLM_ALWAYS_INLINE [[gnu::always_inline]] inline
#else
#define LLM_ALWAYS_INLINE inline
#endif

// Functions for one instruction set carry the target themselves, so that a program needs no -march (docs/decisions.md).
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__) && !defined(__CUDACC__)
#define LLM_X86 1
#else
#define LLM_X86 0
#endif

// Vectors of floats as a type of the compiler's. Without them the CPU backend's portable kernels are scalar code.
#if !defined(LLM_VECTOR_TYPES)
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDACC__)
#define LLM_VECTOR_TYPES 1
#else
#define LLM_VECTOR_TYPES 0
#endif
#endif

// The thread-local pointer to the current tape must be one object across shared libraries, also under -fvisibility=hidden.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define LLM_SHARED __attribute__((visibility("default")))
#else
#define LLM_SHARED
#endif

// Whether an address sanitizer watches the ends of allocated blocks.
#if defined(__SANITIZE_ADDRESS__)
#define LLM_CHECKS_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LLM_CHECKS_BLOCKS 1
#endif
#endif

namespace llm::detail {

/// Blocks that share one allocation would hide what goes past their ends.
#if defined(LLM_CHECKS_BLOCKS)
inline constexpr bool checks_every_block = true;
#else
inline constexpr bool checks_every_block = false;
#endif

/// A product rounded to float also where the compiler joins products and sums into fused operations: through memory, since g++ joins
/// across statements and past __builtin_assoc_barrier.
inline float rounded(float product) noexcept {
  volatile float kept = product;
  return kept;
}

/// Asks for memory that will be read soon; nothing happens when the address is none.
LLM_ALWAYS_INLINE void prefetch([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(p, 0, 2);
#endif
}

/// Uninitialised memory, or null. `alignment` is a power of two and at least that of a pointer.
inline void* aligned_allocate(std::size_t alignment, std::size_t bytes) noexcept {
#if defined(_WIN32)
  return _aligned_malloc(bytes, alignment);
#else
  void* memory = nullptr;  // posix_memalign, since std::aligned_alloc wants the size to be a multiple of the alignment
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#endif
}

/// The size of the system's big pages, where it gives them to those who ask.
inline constexpr std::size_t big_page = std::size_t{2} << 20;

/// Asks for big pages under a block that begins at one; the system may do it or not. Reading memory in small pages takes up to twice as
/// long.
inline void prefer_big_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  madvise(memory, bytes / big_page * big_page, MADV_HUGEPAGE);  // whole pages alone, so that none is paid for that is not asked for
#endif
}

/// Gives back what aligned_allocate returned; null is allowed.
inline void aligned_release(void* memory) noexcept {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace llm::detail
