// What this machine can do at most: multiply-adds and bytes read a second, measured with the CPU backend's own kernels.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>

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
          kernels.multiply_panel(rows, cols, depth, a, depth, true, a + rows * depth, cols, a + rows * depth + depth * cols, cols, false);
      });
    });
    return 2.0 * static_cast<double>(rows * cols * depth * repeats) * llm::num_threads() / time;
  });
}

/// Bytes a second that all threads read from memory.
inline double read_bandwidth() {
  const std::int64_t n = 1 << 26;
  const std::vector<float> x(n, 1.0f);
  return 4.0 * static_cast<double>(n) / seconds([&] { llm::Cpu::sum<float>(x.data(), n); });
}

}  // namespace bench
