// What this machine can do at most: multiply-adds, and bytes read from memory, a second.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/detail/platform.hpp>

#include "multiply_add.hpp"

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Seconds of one call of f: the best of many short rounds, so that other programs disturb few of them.
template <class F>
double seconds(const F& f) {
  f();
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const auto start = Clock::now();
    int calls = 0;
    double elapsed = 0;
    for (; elapsed < 5e-4; elapsed = seconds_since(start), ++calls) f();
    best = (std::min)(best, elapsed / calls);
  }
  return best;
}

inline constexpr std::int64_t pieces_per_thread = 32;

/// Calls f(i) for so many pieces of work that no thread waits long for another.
template <class F>
std::int64_t in_pieces(const F& f) {
  const std::int64_t pieces = pieces_per_thread * llm::num_threads();
  llm::cpu::parallel_for(pieces, 1 << 20, f);
  return pieces;
}

/// Multiply-adds on every thread, between registers. run() returns how many operations it did.
class PeakRun {
 public:
  explicit PeakRun(const MultiplyAdd& kind) : kind_(kind) {}

  double run() {
    constexpr std::int64_t rounds = 20'000;  // of each piece: about 40 microseconds
    const std::int64_t pieces = in_pieces([&](std::int64_t) { kept_.store(kind_.loop(rounds), std::memory_order_relaxed); });
    return kind_.operations * static_cast<double>(rounds * pieces);
  }

 private:
  MultiplyAdd kind_;
  std::atomic<float> kept_{0};  // so that no loop is left out
};

/// The most floating-point operations a second that all threads can do in a number format, "f32" or "bf16".
inline double peak_flops(std::string_view format = "f32") {
  PeakRun peak(fastest_multiply_add(format));
  double operations = 0;
  const double time = seconds([&] { operations = peak.run(); });
  return operations / time;
}

enum class Pages { small, big };

/// All threads read a block much larger than the caches. run() returns how many bytes it read.
class ReadRun {
 public:
  explicit ReadRun(Pages pages = Pages::big) : memory_(llm::detail::aligned_allocate(llm::detail::big_page, bytes)) {
    if (memory_ == nullptr) std::abort();
    if (pages == Pages::big)
      llm::detail::prefer_big_pages(memory_.get(), bytes);
    else
      refuse_big_pages();
    std::fill_n(words(), count, std::uint64_t{1});
  }

  double run() {
    const std::int64_t part = count / pieces_per_thread / llm::num_threads() / streams * streams;
    std::atomic<std::uint64_t> total{0};
    const std::int64_t pieces =
        in_pieces([&](std::int64_t i) { total.fetch_add(sum(words() + i * part, part), std::memory_order_relaxed); });
    if (total != static_cast<std::uint64_t>(part * pieces)) std::abort();  // also keeps the loop
    return 8.0 * static_cast<double>(part * pieces);
  }

 private:
  static constexpr std::int64_t bytes = std::int64_t{1} << 28, count = bytes / 8;
  static constexpr std::int64_t streams = 4;  // read side by side, as a product reads rows of weights: a few per cent faster than one

  struct Release {
    void operator()(void* memory) const { llm::detail::aligned_release(memory); }
  };

  std::uint64_t* words() { return static_cast<std::uint64_t*>(memory_.get()); }

  /// Of integers: a compiler may add them in any order, so several at a time.
  static std::uint64_t sum(const std::uint64_t* x, std::int64_t n) {
    const std::int64_t part = n / streams;
    std::uint64_t a = 0, b = 0, c = 0, d = 0;
    for (std::int64_t i = 0; i < part; ++i) {
      a += x[i];
      b += x[part + i];
      c += x[2 * part + i];
      d += x[3 * part + i];
    }
    return a + b + c + d;
  }

  void refuse_big_pages() {
#if defined(__linux__) && defined(MADV_NOHUGEPAGE)
    madvise(memory_.get(), bytes, MADV_NOHUGEPAGE);
#endif
  }

  std::unique_ptr<void, Release> memory_;
};

/// The most bytes a second that all threads can read from memory, in the pages that tensors lie in.
inline double read_bandwidth() {
  ReadRun reads;
  double bytes = 0;
  const double time = seconds([&] { bytes = reads.run(); });
  return bytes / time;
}

}  // namespace bench
