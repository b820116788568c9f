// Ends a test that waits for ever, so that a deadlock is a failure with a name.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define LLM_HANDLES_ALARM 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LLM_HANDLES_ALARM 0
#endif
#endif
#if !defined(LLM_HANDLES_ALARM)
#define LLM_HANDLES_ALARM 1
#endif

namespace llm_test {

#if defined(__unix__) || defined(__APPLE__)

/// Unless it is destroyed within so many seconds the process is aborted, of which Catch2 says in which test it was. One at a time. The
/// thread sanitizer keeps signals from handlers while a thread waits: there SIGALRM itself ends the process.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 60) {
    if (LLM_HANDLES_ALARM) ::signal(SIGALRM, abort_process);
    ::alarm(seconds);
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { ::alarm(0); }

 private:
  static void abort_process(int) { ::raise(SIGABRT); }
};

#else

/// Where there is no alarm, ctest's limit of time is left.
struct Watchdog {
  explicit Watchdog(unsigned = 60) {}
  ~Watchdog() {}
};

#endif

}  // namespace llm_test
