// What this machine can do at most: multiply-adds and bytes read a second, measured with the CPU backend's own kernels.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/tensor/host_memory.hpp>
#include <llm/tensor/storage.hpp>

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

/// The speed of multiplying rows by a panel that never leaves the first cache: what a product could reach at most, in FLOP/s.
inline double peak_flops() {
  return llm::cpu::with_vectors([](auto kernels) {
    const std::int64_t rows = 4 * kernels.block_rows, cols = kernels.block_cols, depth = 64;
    std::vector<std::vector<float>> spaces;
    for (int i = 0; i < llm::num_threads(); ++i)
      spaces.emplace_back(static_cast<std::size_t>(rows * depth + depth * cols + rows * cols), 0.5f);
    const int repeats = 200;
    const double time = seconds([&] {
      llm::cpu::parallel_for(llm::num_threads(), 1 << 30, [&](std::int64_t i) {
        float* a = spaces[static_cast<std::size_t>(i)].data();
        for (int repeat = 0; repeat < repeats; ++repeat)
          kernels.multiply(rows, cols, depth, llm::cpu::LeftView<float>{a, depth, 1, 0}, a + rows * depth, cols, nullptr, 0,
                           a + rows * depth + depth * cols, cols, llm::cpu::Ahead{});
      });
    });
    return 2.0 * static_cast<double>(rows * cols * depth * repeats) * llm::num_threads() / time;
  });
}

/// Bytes a second that all threads read from memory, in the pages that tensors lie in.
inline double read_bandwidth() {
  constexpr std::int64_t bytes = std::int64_t{1} << 28, words = bytes / 8;
  const auto buffer = llm::detail::Pool<llm::HostMemory>::instance().allocate(bytes);
  auto* const x = static_cast<std::uint64_t*>(buffer->data);
  std::fill(x, x + words, std::uint64_t{1});
  const int threads = llm::num_threads();
  const std::int64_t part = words / threads;
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(8 * threads));  // a cache line for each thread
  const double time = seconds([&] {
    llm::cpu::parallel_for(threads, 1 << 30, [&](std::int64_t i) {
      std::uint64_t sum = 0;  // of integers: a compiler may add them in any order, so several at a time
      for (std::int64_t at = i * part; at < (i + 1) * part; ++at) sum += x[at];
      sums[static_cast<std::size_t>(8 * i)] = sum;
    });
  });
  if (sums[0] != static_cast<std::uint64_t>(part)) std::abort();  // also keeps the loop
  return 8.0 * static_cast<double>(part * threads) / time;
}

}  // namespace bench
