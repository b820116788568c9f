// What the standard library does not know about threads.
#pragma once

#include <thread>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace llm::detail {

/// Tells the core that this thread waits for another one.
inline void relax_core() noexcept {
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// How this thread rounds and whether it flushes subnormal numbers to zero, where that can be asked; and the same for it from now on.
inline unsigned float_modes() noexcept {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__SSE__)
  return __builtin_ia32_stmxcsr() & ~0x3fu;  // without the flags of what happened
#else
  return 0;
#endif
}
inline void set_float_modes([[maybe_unused]] unsigned modes) noexcept {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__SSE__)
  __builtin_ia32_ldmxcsr(modes);
#endif
}

/// Calls f in the child after a fork, on systems that have one.
inline void after_fork([[maybe_unused]] void (*f)()) noexcept {
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, f);
#endif
}

/// Lets a thread run on the given cores only, where the system can say so.
inline void bind_thread([[maybe_unused]] std::thread& thread, [[maybe_unused]] const int* cores, [[maybe_unused]] int count) noexcept {
#if defined(__linux__) && defined(CPU_SET)
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < count; ++i) CPU_SET(cores[i], &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
#endif
}

}  // namespace llm::detail
