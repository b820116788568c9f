// What the Google Benchmark programs share: how a thing is timed, the machine's limits as benchmarks beside it, and main.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include <llm/core/error.hpp>
#include <llm/tensor/storage.hpp>

#include "load.hpp"
#include "machine.hpp"

namespace bench {

using State = benchmark::State;

/// A rate in work a second: `work` is that of one call, in FLOP or bytes.
inline benchmark::Counter rate(double work) { return {work, benchmark::Counter::kIsIterationInvariantRate}; }

/// Times f(); tells how many cores other programs used meanwhile.
template <class F>
void time_calls(State& state, const F& f) {
  const Load before;
  for (auto _ : state) f();
  state.counters["others"] = Load().others_since(before);
}

/// Registers a benchmark; real time counts, and the repetitions of one run take turns with those of the others when
/// --benchmark_enable_random_interleaving=true asks for it.
template <class F>
void add(const std::string& name, const F& f) {
  benchmark::RegisterBenchmark(name.c_str(), f)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond);
}

/// Times multiply-adds between registers.
inline void time_peak(State& state, const MultiplyAdd& kind) {
  PeakRun peak(kind);
  double work = peak.run();
  time_calls(state, [&] { work = peak.run(); });
  state.counters["FLOP/s"] = rate(work);
}

/// Times reads of a block much larger than the caches.
inline void time_reads(State& state, Pages pages) {
  ReadRun reads(pages);
  double work = reads.run();
  time_calls(state, [&] { work = reads.run(); });
  state.counters["bytes/s"] = rate(work);
}

/// The limits that a program's own benchmarks are compared with, measured in the same run: "limit/f32", "limit/bf16", "limit/read".
inline void add_limits() {
  for (const char* format : {"f32", "bf16"})
    add(std::string("limit/") + format, [format](State& state) { time_peak(state, fastest_multiply_add(format)); });
  add("limit/read", [](State& state) { time_reads(state, Pages::big); });
}

/// What a benchmark works on, kept between its repetitions.
struct Kept {
  std::string name;
  std::shared_ptr<void> fixture;

  static Kept& instance() {
    static Kept kept;
    return kept;
  }
};

/// The fixture called `name`, made on first use. One is kept at a time, of whatever type: two large models do not fit the memory.
template <class T, class Make>
T& fixture(const std::string& name, const Make& make) {
  Kept& kept = Kept::instance();
  if (kept.name != name) {
    kept.fixture.reset();
    llm::trim_pool<llm::Cpu>();
    kept.fixture = std::shared_ptr<T>(make());
    kept.name = name;
  }
  return *static_cast<T*>(kept.fixture.get());
}

/// main of a program: --threads N, then Google Benchmark's options; `add_all` registers.
template <class F>
int run(int argc, char** argv, const F& add_all) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument != "--threads" || i + 1 == argc || std::atoi(argv[i + 1]) < 1) {
      std::fprintf(stderr, "%s [--threads N] [--benchmark_...], not %s\n", argv[0], argv[i]);
      return 2;
    }
    llm::set_num_threads(std::atoi(argv[++i]));
  }
  try {
    benchmark::AddCustomContext("threads", std::to_string(llm::num_threads()));
    benchmark::AddCustomContext("isa", std::string(llm::cpu::to_string(llm::cpu::current_isa())));
    add_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const llm::Error& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}

}  // namespace bench
