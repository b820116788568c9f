// What the emulator tells the sanitizers: which fiber runs, what orders fibers, which memory is new. Nothing in a plain build.
#pragma once

#include <cstddef>
#include <cstring>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define CUDA_EMULATOR_TSAN 1
extern "C" void __tsan_java_init(unsigned long, unsigned long);
extern "C" void __tsan_java_alloc(unsigned long, unsigned long);
extern "C" void AnnotateIgnoreReadsBegin(const char*, int);
extern "C" void AnnotateIgnoreReadsEnd(const char*, int);
extern "C" void AnnotateIgnoreWritesBegin(const char*, int);
extern "C" void AnnotateIgnoreWritesEnd(const char*, int);
#else
#define CUDA_EMULATOR_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CUDA_EMULATOR_ASAN 1
#else
#define CUDA_EMULATOR_ASAN 0
#endif

/// For functions that run in fibers: the emulator's own accesses to its tables are no races of the kernel.
#define CUDA_EMULATOR_UNSEEN __attribute__((noinline, no_sanitize("thread"))) inline

// Shared arrays are static. A section of their own lets the emulator fill them with NaN before each block. g++ 12 ignores the section
// inside templates: there such arrays keep what the last block wrote. Under AddressSanitizer they are plain statics, which get red zones.
#if CUDA_EMULATOR_ASAN
#define __shared__ static
#else
#define __shared__ static __attribute__((section("cuda_shared")))
extern "C" char __start_cuda_shared[] __attribute__((weak));
extern "C" char __stop_cuda_shared[] __attribute__((weak));
#endif

namespace cuda_emulator {

/// While it lives, the scheduler's own accesses are no races either, and memory it allocates is new to ThreadSanitizer.
class SchedulerUnseen {
 public:
  SchedulerUnseen() {
#if CUDA_EMULATOR_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  ~SchedulerUnseen() {
#if CUDA_EMULATOR_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  }
  SchedulerUnseen(const SchedulerUnseen&) = delete;
  SchedulerUnseen& operator=(const SchedulerUnseen&) = delete;
};

/// Before a block: its shared arrays hold NaN, and accesses of earlier blocks are forgotten.
inline void renew_shared_arrays() {
#if !CUDA_EMULATOR_ASAN
  char* const begin = __start_cuda_shared;
  char* const end = __stop_cuda_shared;
  if (begin == nullptr) return;
#if CUDA_EMULATOR_TSAN
  const unsigned long from = reinterpret_cast<unsigned long>(begin) & ~7ul;
  const unsigned long bytes = ((reinterpret_cast<unsigned long>(end) + 7) & ~7ul) - from;
  static const bool known = (__tsan_java_init(from, bytes), true);
  if (known) __tsan_java_alloc(from, bytes);
#endif
  std::memset(begin, 0xff, static_cast<std::size_t>(end - begin));
#endif
}

/// A stack that is used again has no red zones of earlier frames.
inline void renew_stack([[maybe_unused]] char* stack, [[maybe_unused]] std::size_t bytes) {
#if CUDA_EMULATOR_ASAN
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

/// Accesses before order_from(token) come before accesses after order_to(token).
CUDA_EMULATOR_UNSEEN void order_from([[maybe_unused]] char* token) {
#if CUDA_EMULATOR_TSAN
  __tsan_release(token);
#endif
}
CUDA_EMULATOR_UNSEEN void order_to([[maybe_unused]] char* token) {
#if CUDA_EMULATOR_TSAN
  __tsan_acquire(token);
#endif
}

/// What the sanitizers know of one fiber: ThreadSanitizer's handle, or AddressSanitizer's fake stack.
struct SanitizerFiber {
  void* handle = nullptr;

  void create() {
#if CUDA_EMULATOR_TSAN
    handle = __tsan_create_fiber(0);
#endif
  }
  void destroy() {
#if CUDA_EMULATOR_TSAN
    __tsan_destroy_fiber(handle);
#endif
    handle = nullptr;
  }
};

/// The scheduler's own context, to which fibers return.
struct SanitizerMain {
  void* handle = nullptr;
  const void* stack = nullptr;
  std::size_t bytes = 0;

  void begin() {
#if CUDA_EMULATOR_TSAN
    handle = __tsan_get_current_fiber();
#endif
  }
};

}  // namespace cuda_emulator
