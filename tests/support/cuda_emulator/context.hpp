// A point of execution that can be left and entered again, on a stack of its own: what the emulator's fibers are made of.
#pragma once

#include <ucontext.h>

#include <cstddef>

#include <support/cuda_emulator/sanitizers.hpp>

// swapcontext asks the system for the signal mask each time, which is most of what a switch costs. The compiler's own jumps do not, but the
// sanitizers do not know them, and clang has them on few processors.
#if defined(__x86_64__) && !CUDA_EMULATOR_ASAN && !CUDA_EMULATOR_TSAN
#define CUDA_EMULATOR_JUMPS 1
#else
#define CUDA_EMULATOR_JUMPS 0
#endif

namespace cuda_emulator {

class Context {
 public:
  /// To begin with `start`, which does not return, on `stack`, at the first switch_to.
  void prepare(char* stack, std::size_t bytes, void (*start)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    makecontext(&context_, start, 0);
    fresh_ = true;
  }

  /// Goes on at `to`; returns when somebody switches to this context.
  CUDA_EMULATOR_UNSEEN void switch_to(Context& to) {
#if CUDA_EMULATOR_JUMPS
    if (__builtin_setjmp(jump_) == 0) to.enter();
#else
    swapcontext(&context_, &to.context_);
#endif
  }

  /// Goes on here, and leaves what runs for good.
  [[noreturn]] CUDA_EMULATOR_UNSEEN void enter() {
#if CUDA_EMULATOR_JUMPS
    if (!fresh_) __builtin_longjmp(jump_, 1);
    fresh_ = false;
#endif
    setcontext(&context_);
    __builtin_unreachable();
  }

 private:
  ucontext_t context_{};
  void* jump_[5] = {};
  bool fresh_ = false;
};

}  // namespace cuda_emulator
