// Measures what refusing a file costs; where that cannot be measured, LLM_TEST_MEASURES_MEMORY is not defined.
#pragma once

// Sanitizers keep freed memory, so the figure means nothing under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LLM_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LLM_TEST_SANITIZED 1
#endif
#endif

#if defined(__linux__) && !defined(LLM_TEST_SANITIZED)
#define LLM_TEST_MEASURES_MEMORY 1

#include <cstdint>
#include <fstream>
#include <string>

#include <llm/core/error.hpp>

#include <support/catch.hpp>
#include <support/child_process.hpp>

namespace llm_test {

inline std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      std::int64_t kib = 0;
      status >> kib;
      return kib;
    }
  return -1;
}

/// Whether a process of its own sees `read` throw FileError with less than 16 MiB more of peak resident memory.
template <class Function>
bool refusal_is_cheap(const Function& read) {
  const int status = run_in_child([&] {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from now
    const std::int64_t before = peak_kib();
    try {
      read();
      return 1;
    } catch (const llm::FileError&) {
      return before > 0 && peak_kib() - before < 16 * 1024 ? 0 : 2;
    }
  });
  if (status == 1) WARN("the file was accepted");
  return status == 0;
}

}  // namespace llm_test

#endif
