// Loops on several threads: who runs them, what happens when a thread does not run, throws, ends or is not there.
#include <support/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

#include <llm/backend/cpu/parallel.hpp>
#include <support/watchdog.hpp>

#if defined(_OPENMP) && defined(__linux__)
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <llm/backend/cpu/optimizer.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <support/child_process.hpp>
#include <support/sanitizer.hpp>
#if LLM_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif
#endif

namespace {

constexpr std::int64_t large = 1 << 20;  // work of an index for which a sleeping thread is woken

/// A number of threads for a while, in which a deadlock ends.
struct ThreadCount {
  llm_test::Watchdog watchdog;
  explicit ThreadCount(int threads) { llm::set_num_threads(threads); }
  ~ThreadCount() { llm::set_num_threads(0); }
};

/// How often each index of a loop is visited.
std::vector<int> visits(std::int64_t count, std::int64_t work) {
  std::vector<std::atomic<int>> found(static_cast<std::size_t>(count));
  llm::cpu::parallel_for(count, work, [&](std::int64_t i) { ++found[static_cast<std::size_t>(i)]; });
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("a loop visits each index once, with any number of threads [threads]") {
  for (const int threads : {1, 2, 3, 5}) {
    const ThreadCount use(threads);
    for (const std::int64_t count : {1, 2, 3, 4, 7, 64, 1000})
      for (const std::int64_t work : {std::int64_t{0}, std::int64_t{100}, large}) {
        INFO(threads << " threads, " << count << " indices of " << work);
        CHECK(visits(count, work) == std::vector<int>(static_cast<std::size_t>(count), 1));
      }
  }
  CHECK(visits(100000, 10) == std::vector<int>(100000, 1));
  llm::cpu::parallel_for(0, large, [](std::int64_t) { FAIL("there is no index"); });
}

TEST_CASE("an exception of any thread reaches the caller, and the next loop runs [threads]") {
  for (const int threads : {1, 2, 4}) {
    const ThreadCount use(threads);
    for (int thrower = 0; thrower < 40; ++thrower) {
      const auto loop = [&] {
        llm::cpu::parallel_for(40, large, [&](std::int64_t i) {
          if (i == thrower) throw std::runtime_error("one");
        });
      };
      CHECK_THROWS_AS(loop(), std::runtime_error);
    }
    const auto all = [] { llm::cpu::parallel_for(40, large, [](std::int64_t) { throw std::runtime_error("all"); }); };
    CHECK_THROWS_AS(all(), std::runtime_error);
    CHECK(visits(40, large) == std::vector<int>(40, 1));
  }
}

#if defined(_OPENMP) && defined(__linux__)

namespace {

void rest(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// The threads that run a loop of `count` indices.
std::set<pthread_t> threads_of_loop(std::int64_t count, std::int64_t work, int milliseconds) {
  std::mutex mutex;
  std::set<pthread_t> found;
  llm::cpu::parallel_for(count, work, [&](std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      found.insert(pthread_self());
    }
    rest(milliseconds);
  });
  return found;
}

/// A helper of this thread's team, with two threads. It runs as soon as it can, so some loop finds it.
pthread_t find_helper() {
  for (;;)
    for (const pthread_t thread : threads_of_loop(2, large, 1))
      if (!pthread_equal(thread, pthread_self())) return thread;
}

std::size_t threads_of_process() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
  return count;
}

/// After a first call, others add no thread to the process.
template <class Call>
void leaves_no_thread_behind(int times, const Call& call) {
  call();
  const std::size_t before = threads_of_process();
  for (int i = 0; i < times; ++i) call();
  rest(20);  // a joined thread may be listed for a moment
  CHECK(threads_of_process() <= before);
}

std::atomic<int> stopped{0};
std::atomic<bool> go_on{false};

void stop_thread(int) {
  ++stopped;
  while (!go_on.load()) rest(1);
}

}  // namespace

TEST_CASE("a deadlock is ended by the watchdog [threads]") {
  const pid_t child = llm_test::start_child([] {
    ::signal(SIGABRT, SIG_DFL);  // Catch2 would report it as its own
    const llm_test::Watchdog watchdog(1);
    for (;;) rest(1000);
    return 0;
  });
  const int status = llm_test::wait_for_child(child);
  CHECK((status == -SIGABRT || status == -SIGALRM));
}

TEST_CASE("a loop ends although the other thread does not run [threads]") {
  const ThreadCount use(2);
  const pthread_t helper = find_helper();
  struct sigaction action = {}, before = {};
  action.sa_handler = stop_thread;
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  REQUIRE(pthread_kill(helper, SIGUSR1) == 0);
  while (stopped.load() == 0) rest(1);
  for (int round = 0; round < 3; ++round) CHECK(visits(40, large) == std::vector<int>(40, 1));
  go_on = true;
  CHECK(pthread_equal(find_helper(), helper));
  CHECK(sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("a sleeping thread is not woken for one small loop, but for many [threads]") {
  const ThreadCount use(2);
  find_helper();
  rest(50);
  const std::int64_t small = llm::cpu::serial_work;
  CHECK(threads_of_loop(2, small, 1).size() == 1);
  int loops = 2;
  while (threads_of_loop(2, small, 1).size() == 1 && loops < 1000) ++loops;
  CHECK(loops < 1000);
}

TEST_CASE("a loop inside a loop, or inside a parallel region, stays on its thread [threads]") {
  const ThreadCount use(2);
  std::atomic<int> strangers{0};
  const auto inner = [&] {
    const pthread_t self = pthread_self();
    llm::cpu::parallel_for(50, large, [&](std::int64_t) { strangers += !pthread_equal(self, pthread_self()); });
  };
  llm::cpu::parallel_for(50, large, [&](std::int64_t) { inner(); });
#pragma omp parallel num_threads(2)
  inner();
  CHECK(strangers == 0);
}

TEST_CASE("several threads run loops at once [threads]") {
  const ThreadCount use(3);
  std::vector<std::int64_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<std::int64_t> sum{0};
        llm::cpu::parallel_for(100, large, [&](std::int64_t i) { sum += i; });
        sums[c] += sum;
      }
    });
  for (auto& caller : callers) caller.join();
  CHECK(sums == std::vector<std::int64_t>(4, 200 * 4950));
}

TEST_CASE("threads that end leave their helpers to others [threads]") {
  const ThreadCount use(2);
  leaves_no_thread_behind(50, [] { std::thread([] { visits(10, large); }).join(); });
}

TEST_CASE("a forked child has helpers of its own [threads]") {
#if LLM_THREAD_SANITIZER
  WARN("skipped: the thread sanitizer allows no threads after a fork");
#else
  const ThreadCount use(2);
  find_helper();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(llm_test::hang_seconds);  // a child that waits for ever fails
    const bool right = visits(40, large) == std::vector<int>(40, 1);
    find_helper();
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(visits(40, large) == std::vector<int>(40, 1));
#endif
}

TEST_CASE("a loop runs on fewer threads when there is no memory for more [threads]") {
#if LLM_THREAD_SANITIZER
  WARN("skipped: the thread sanitizer takes more memory than can be limited");
#else
  const ThreadCount use(64);
  llm::cpu::ThisThread::workspaces();  // the caller's own are not what is missing
  const auto loops_with = [](rlim_t more) {
    return llm_test::run_in_child([more] {
      ::alarm(llm_test::hang_seconds);
      std::int64_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + more;
      const rlimit limit{bytes, bytes};
      if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
      for (int round = 0; round < 3; ++round)
        if (visits(1000, large) != std::vector<int>(1000, 1)) return 1;
      return threads_of_process() < 64 ? 0 : 3;
    });
  };
  // A helper takes 8 MiB for its stack and 2 for workspaces: memory ends now with the one, now with the other, but leaves something for
  // what the C library allocates in a new thread, which aborts without it.
  for (const rlim_t mebibytes : {36u, 40u, 44u, 48u}) CHECK(loops_with(mebibytes << 20) == 0);
#endif
}

TEST_CASE("a process forked inside a loop may call kernels until it ends [threads]") {
#if LLM_THREAD_SANITIZER
  WARN("skipped: the thread sanitizer allows no threads after a fork");
#else
  const ThreadCount use(2);
  find_helper();
  std::atomic<int> wrong{0};
  llm::cpu::parallel_for(8, large, [&](std::int64_t) {
    wrong += llm_test::run_in_child([] {
               ::alarm(llm_test::hang_seconds);
               return visits(40, large) == std::vector<int>(40, 1) ? 0 : 1;
             }) != 0;
  });
  CHECK(wrong == 0);
#endif
}

namespace {

/// Calls kernels when it is destroyed.
struct CallsAtExit {
  std::atomic<int>* right = nullptr;
  void (*then)(bool) = nullptr;
  ~CallsAtExit() {
#if LLM_ADDRESS_SANITIZER
    const __lsan::ScopedDisabler nobody_frees_late_workspaces;
#endif
    const std::vector<float> ones(1 << 20, 1.0f);
    const llm::Elements<float> all{ones.data(), static_cast<std::int64_t>(ones.size())};
    bool good = true;
    for (int round = 0; round < 3; ++round) good = good && llm::cpu::sum_of_squares<float>(&all, 1) == static_cast<double>(ones.size());
    if (right != nullptr) *right += good;
    if (then != nullptr) then(good);
  }
};

}  // namespace

TEST_CASE("kernels run when the objects of a thread are destroyed, and leave no thread behind [threads]") {
  const ThreadCount use(2);
  std::atomic<int> right{0};
  leaves_no_thread_behind(10, [&] {
    std::thread([&] {
      static thread_local CallsAtExit outlives_what_the_library_keeps;  // made before it
      outlives_what_the_library_keeps.right = &right;
      find_helper();
      static thread_local CallsAtExit made_last;
      made_last.right = &right;
    }).join();
  });
  CHECK(right == 22);
}

TEST_CASE("kernels run when static objects are destroyed [threads]") {
#if LLM_THREAD_SANITIZER
  WARN("skipped: the thread sanitizer allows no threads after a fork");
#else
  const ThreadCount use(2);
  const pid_t child = llm_test::start_child([] {
    static CallsAtExit calls;
    calls.then = [](bool good) { ::_exit(good ? 7 : 1); };
    ::alarm(llm_test::hang_seconds);
    find_helper();
    std::exit(2);
    return 3;
  });
  CHECK(llm_test::wait_for_child(child) == 7);
#endif
}

#if defined(__SSE__)
namespace {

/// Rounding and subnormal numbers are as they were when it is destroyed.
struct KeepsFloatModes {
  unsigned before = __builtin_ia32_stmxcsr();
  KeepsFloatModes() = default;
  KeepsFloatModes(const KeepsFloatModes&) = delete;
  KeepsFloatModes& operator=(const KeepsFloatModes&) = delete;
  ~KeepsFloatModes() { __builtin_ia32_ldmxcsr(before); }
};

}  // namespace

TEST_CASE("helpers treat subnormal numbers as the calling thread does [threads]") {
  const ThreadCount use(2);
  find_helper();
  const KeepsFloatModes modes;
  for (const bool flush : {true, false, true}) {
    __builtin_ia32_ldmxcsr(flush ? modes.before | 0x8000u : modes.before & ~0x8000u);
    std::atomic<int> subnormal{0};
    std::atomic<bool> helped{false};
    while (!helped)
      llm::cpu::parallel_for(8, large, [&, self = pthread_self()](std::int64_t) {
        const volatile float x = 1e-30f, y = 1e-10f;
        if (x * y != 0.0f) ++subnormal;
        if (!pthread_equal(self, pthread_self())) helped = true;
        rest(1);
      });
    CHECK((subnormal == 0) == flush);
    CHECK(subnormal % 8 == 0);
  }
}
#endif

TEST_CASE("what one thread needed, all have room for [threads]") {
  const ThreadCount use(2);
  find_helper();
  const std::int64_t bytes = 3 << 20;
  const auto have = [] { return static_cast<std::int64_t>(llm::cpu::ThisThread::workspaces().bytes(llm::cpu::Slot::scores)); };
  llm::cpu::parallel_for(2, large, [&](std::int64_t i) {
    if (i == 0) llm::cpu::workspace<char>(llm::cpu::Slot::scores, bytes);
  });
  CHECK(have() >= bytes);
  std::atomic<bool> helped{false};
  while (!helped)
    llm::cpu::parallel_for(2, large, [&, self = pthread_self()](std::int64_t) {
      if (!pthread_equal(self, pthread_self())) {
        helped = true;
        CHECK(have() >= bytes);
      }
      rest(1);
    });
}

TEST_CASE("a thread whose workspaces grow at the end of its first loop goes on with what it found [threads]") {
  const ThreadCount use(2);
  std::thread([] {  // a helper of this thread's needs more than it has, and is left to the next thread
    std::atomic<bool> helped{false};
    while (!helped)
      llm::cpu::parallel_for(2, large, [&, self = pthread_self()](std::int64_t) {
        if (!pthread_equal(self, pthread_self())) {
          llm::cpu::workspace<char>(llm::cpu::Slot::rows, 512 * 1024);
          helped = true;
        }
        rest(1);
      });
  })
      .join();
  const std::vector<float> ones(1 << 20, 1.0f);
  double sum = 0;
  std::thread([&] {
    const llm::Elements<float> all{ones.data(), static_cast<std::int64_t>(ones.size())};
    sum = llm::cpu::sum_of_squares<float>(&all, 1);
  }).join();
  CHECK(sum == static_cast<double>(ones.size()));
}

#endif
