// Work on rows shared by threads, without OpenMP: for programs that read and write files.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace llm::detail {

/// Runs f(i) for 0 <= i < count on at most so many threads, on fewer when the system does not give them. Of several errors the one of the
/// smallest i is thrown, whatever the number of threads.
template <class F>
void for_each_on_threads(std::int64_t count, int threads, const F& f) {
  const std::int64_t helpers = (std::min)(std::int64_t{(std::max)(1, threads)}, count) - 1;
  std::atomic<std::int64_t> next{0};
  std::mutex lock;
  std::exception_ptr error;
  std::int64_t failed = count;
  const auto work = [&] {
    std::int64_t i = 0;
    try {
      while ((i = next.fetch_add(1)) < count) f(i);
    } catch (...) {
      next.store(count);  // those before i have been taken
      const std::lock_guard guard(lock);
      if (i < failed) failed = i, error = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>((std::max)(std::int64_t{0}, helpers)));
  try {
    for (std::int64_t i = 0; i < helpers; ++i) workers.emplace_back(work);
  } catch (const std::system_error&) {  // no more of them: those that are there do the work
  }
  work();
  for (std::thread& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace llm::detail
