// Counts heap allocations at malloc, where Eigen's and operator new's end too. Include in one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LLM_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LLM_COUNTS_MALLOC 0
#endif
#endif
#if !defined(LLM_COUNTS_MALLOC) && defined(__GLIBC__)
#define LLM_COUNTS_MALLOC 1
#elif !defined(LLM_COUNTS_MALLOC)
#define LLM_COUNTS_MALLOC 0  // no way to stand before malloc known here, or a sanitizer stands there
#endif

namespace llm_test {

inline std::atomic<std::int64_t> allocations{0};

/// Heap allocations, of any thread, while f runs.
template <class F>
std::int64_t allocations_in(F&& f) {
  const std::int64_t before = allocations.load();
  f();
  return allocations.load() - before;
}

}  // namespace llm_test

#if LLM_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  llm_test::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  llm_test::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* p, std::size_t bytes) {
  llm_test::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  llm_test::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  llm_test::allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : 12;
}
}
#endif
