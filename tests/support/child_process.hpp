// Runs a function in a child process: for tests that limit, kill or measure a process.
#pragma once

#include <exception>
#include <stdexcept>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace llm_test {

/// Forks; the child calls `function`, ends with its result as exit status (99 after an exception) and runs no destructors.
template <class Function>
::pid_t start_child(const Function& function) {
  const ::pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child > 0) return child;
  int status = 99;
  try {
    status = function();
  } catch (const std::exception&) {
  }
  ::_exit(status);
}

/// The child's exit status, or minus the number of the signal that ended it.
inline int wait_for_child(::pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("cannot wait for the child");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <class Function>
int run_in_child(const Function& function) {
  return wait_for_child(start_child(function));
}

}  // namespace llm_test
