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

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

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

/// Touches all pages of the program and its libraries that are not written to: a forked process begins without them, and what it needs of
/// a large program, in runs of pages, is no cost of what it calls.
inline void touch_program() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string mode, offset, device, inode, path;
    words >> std::hex >> begin >> dash >> end >> mode >> offset >> device >> inode >> path;
    if (mode.size() < 2 || mode[0] != 'r' || mode[1] != '-' || path.empty() || path[0] != '/') continue;
    for (std::uintptr_t at = begin; at < end; at += 4096) static_cast<void>(*reinterpret_cast<const volatile char*>(at));
  }
}

/// By how many KiB the peak of resident memory grows in a process of its own that calls `read`, in steps of 256 KiB, at most 253 of them.
/// -1 when the text of its FileError does not contain `expected`; null: it must throw none.
template <class Function>
int growth_kib(const Function& read, const char* expected) {
  const int status = run_in_child([&] {
#if defined(__GLIBC__)
    ::malloc_trim(0);  // memory that the parent has freed would hide what is allocated now
#endif
    touch_program();
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from now
    const std::int64_t before = peak_kib();
    bool thrown = false;
    std::string message;
    try {
      read();
    } catch (const llm::FileError& error) {
      thrown = true;
      message = error.what();
    }
    const std::int64_t growth = peak_kib() - before;
    if (thrown != (expected != nullptr) || (thrown && message.find(expected) == std::string::npos) || before <= 0) return 255;
    return static_cast<int>((std::min)(growth / 256, std::int64_t{253}));
  });
  return status < 0 || status >= 254 ? -1 : status * 256;
}

/// Whether `read` throws FileError, with this in its text, at the price of less than 16 MiB of resident memory.
template <class Function>
bool refusal_is_cheap(const Function& read, const char* expected = "") {
  const int growth = growth_kib(read, expected);
  if (growth < 0) WARN("the file was accepted, or refused for another reason");
  if (growth >= 16 * 1024) WARN("refusing it took " << growth << " KiB and more");
  return growth >= 0 && growth < 16 * 1024;
}

}  // namespace llm_test

#endif
