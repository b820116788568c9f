// A loop over fixed blocks of work on the threads of the CPU backend.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

#include <llm/backend/cpu/threads.hpp>

namespace llm::cpu {

/// Below this much work a second thread costs more than it gives. The unit is about a nanosecond of one core: a few elements touched,
/// or `products_per_work` multiply-adds of a matrix product.
inline constexpr std::int64_t serial_work = 1 << 14;
inline constexpr std::int64_t products_per_work = 32;

#if defined(_OPENMP)
inline namespace with_openmp {

/// Calls f(i) for i in [0, count), on several threads when count * work is large enough and no parallel region is active. `work` is the
/// cost of one index. Callers cut their work at sizes that do not depend on the number of threads, so that results do not either. Each
/// thread gets the same indices at every call, so that its workspace has its final size after the first. The first exception of f is
/// thrown again when all threads have finished.
template <class F>
void parallel_for(std::int64_t count, std::int64_t work, const F& f) {
  const auto threads = static_cast<int>((std::min)(static_cast<std::int64_t>(num_threads()), count));
  if (threads <= 1 || work < serial_work / count || omp_in_parallel()) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  std::exception_ptr error;
  // Not `parallel for`: clang's OpenMP runtime allocates memory for each such loop.
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t step = omp_get_num_threads();
    try {
      for (std::int64_t i = omp_get_thread_num(); i < count; i += step) f(i);
    } catch (...) {
#pragma omp critical(llm_cpu_parallel_for)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace with_openmp
#else
inline namespace without_openmp {

template <class F>
void parallel_for(std::int64_t count, std::int64_t /*work*/, const F& f) {
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

}  // namespace without_openmp
#endif

/// Cuts n elements into blocks of `block` and calls f(begin, end) for each; `work` is the cost of one element.
template <class F>
void parallel_blocks(std::int64_t n, std::int64_t block, std::int64_t work, const F& f) {
  const std::int64_t blocks = n / block + (n % block != 0);
  parallel_for(blocks, (std::min)(n, block) * work, [&](std::int64_t i) { f(i * block, (std::min)(n, (i + 1) * block)); });
}

/// Block length for rows of `cols` elements: about 8192 elements, at least one row.
inline std::int64_t rows_per_block(std::int64_t cols) { return (std::max)(std::int64_t{1}, 8192 / (std::max)(std::int64_t{1}, cols)); }

}  // namespace llm::cpu
