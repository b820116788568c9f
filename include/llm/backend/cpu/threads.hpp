// How many threads the CPU backend uses.
#pragma once

#include <atomic>

#include <llm/core/error.hpp>
#include <llm/detail/platform.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace llm {
namespace cpu {

// What the user asked for; 0 leaves the choice to OpenMP. One object in the program, whatever its translation units were compiled with.
LLM_SHARED inline std::atomic<int> requested_threads{0};

#if defined(_OPENMP)
inline namespace with_openmp {
inline int default_threads() { return omp_get_max_threads(); }
inline constexpr bool has_threads = true;
}  // namespace with_openmp
#else
inline namespace without_openmp {
inline int default_threads() { return 1; }
inline constexpr bool has_threads = false;
}  // namespace without_openmp
#endif

}  // namespace cpu

/// Number of threads that kernels use: what set_num_threads said, else what OpenMP says (OMP_NUM_THREADS, or the cores of the machine).
/// Always 1 in a program built without OpenMP.
inline int num_threads() {
  const int requested = cpu::requested_threads.load(std::memory_order_relaxed);
  return cpu::has_threads && requested > 0 ? requested : cpu::default_threads();
}

/// Sets the number of threads for all kernels from now on; 0 goes back to OpenMP's choice. Results do not depend on it.
/// Throws ValueError when n is negative.
inline void set_num_threads(int n) {
  if (n < 0) throw ValueError(detail::concat("llm::set_num_threads(", n, "): expected 1 or more, or 0 for the default"));
  cpu::requested_threads.store(n, std::memory_order_relaxed);
}

}  // namespace llm
