// Ends a test that waits for ever, so that a deadlock is a failure with a name.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <unistd.h>
#endif

#include <support/sanitizer.hpp>

namespace llm_test {

/// Far above what a test takes, also where a sanitizer or an emulated CPU slows it down, and below ctest's limit.
inline constexpr unsigned hang_seconds = 300;

#if defined(__unix__) || defined(__APPLE__)

/// Unless it is destroyed within so many seconds the process is aborted, of which Catch2 says in which test it was. One at a time. The
/// thread sanitizer keeps signals from handlers while a thread waits: there SIGALRM itself ends the process.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = hang_seconds) {
    if (!LLM_THREAD_SANITIZER) ::signal(SIGALRM, abort_process);
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
  explicit Watchdog(unsigned = hang_seconds) {}
  ~Watchdog() {}
};

#endif

}  // namespace llm_test
