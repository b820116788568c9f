// What this machine can do at most, with 1 .. N threads: multiply-adds of each instruction set and number format, and bytes read from
// memory in big and in small pages. --benchmark_format=json prints it for programs.
//
//   roofline [--threads N]
#include <functional>
#include <string>

#include <llm/backend/cpu/cpu.hpp>

#include "support/benchmark.hpp"

namespace {

/// The same benchmark on `threads` threads.
void on_threads(int threads, const std::string& name, const std::function<void(bench::State&)>& f) {
  bench::add(name + "/threads:" + std::to_string(threads), [=](bench::State& state) {
    const int before = llm::num_threads();
    llm::set_num_threads(threads);
    f(state);
    llm::set_num_threads(before);
  });
}

void add_all() {
  for (int threads = 1; threads <= llm::num_threads(); ++threads) {
    for (const bench::MultiplyAdd& kind : bench::multiply_adds())
      on_threads(threads, "peak/" + std::string(kind.name), [kind](bench::State& state) { bench::time_peak(state, kind); });
    on_threads(threads, "read/big_pages", [](bench::State& state) { bench::time_reads(state, bench::Pages::big); });
    on_threads(threads, "read/small_pages", [](bench::State& state) { bench::time_reads(state, bench::Pages::small); });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
