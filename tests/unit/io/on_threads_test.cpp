// Work shared by threads: each piece once, the same error whatever their number, and no more threads than the system gives.
#include <llm/io/on_threads.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/sanitizer.hpp>

#if defined(__linux__)
#include <sys/resource.h>

#include <support/child_process.hpp>
#endif

using llm::detail::for_each_on_threads;

TEST_CASE("every piece of work is done once, on any number of threads") {
  for (const int threads : {-1, 0, 1, 2, 7, 64}) {
    for (const std::int64_t count : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      for_each_on_threads(count, threads, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
      for (const auto& times : done) REQUIRE(times == 1);
    }
  }
}

TEST_CASE("of several errors the first piece's is thrown") {
  for (const int threads : {1, 3, 16}) {
    for (int run = 0; run < 20; ++run) {
      const auto fail = [](std::int64_t i) {
        if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
      };
      CHECK_THROWS_WITH(for_each_on_threads(100, threads, fail), "7");
    }
  }
}

#if defined(__linux__)
TEST_CASE("a system that gives no threads leaves the work to those that are there") {
  if (LLM_ADDRESS_SANITIZER || LLM_THREAD_SANITIZER) return;  // they need more memory than the limit leaves
  const int status = llm_test::run_in_child([] {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::uint64_t{1} << 29;  // of 1000 stacks some
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 3;
    std::atomic<std::int64_t> sum{0};
    for_each_on_threads(1000, 1000, [&](std::int64_t i) { sum += i; });
    return sum == 499500 ? 0 : 1;
  });
  CHECK(status == 0);
}
#endif
