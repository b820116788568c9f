// Ctrl-C as a question that the program asks when it suits it.
#pragma once

#include <csignal>

namespace examples {

/// While it lives, the first Ctrl-C (or SIGTERM) only makes interrupted() true; the second one ends the program.
class Interrupt {
 public:
  Interrupt() {
    flag = 0;
    std::signal(SIGINT, remember);
    std::signal(SIGTERM, remember);
  }
  ~Interrupt() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool interrupted() const { return flag != 0; }

 private:
  static inline volatile std::sig_atomic_t flag = 0;
  static void remember(int signal) {
    flag = 1;
    std::signal(signal, SIG_DFL);
  }
};

}  // namespace examples
