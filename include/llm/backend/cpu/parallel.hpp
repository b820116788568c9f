// A loop over fixed blocks of work on the threads of the CPU backend.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/threads.hpp>
#if defined(_OPENMP)
#include <llm/backend/cpu/this_team.hpp>
#endif

namespace llm::cpu {

/// Below this much work a second thread costs more than it gives. The unit is about a nanosecond of one core: a few elements touched,
/// or `products_per_work` multiply-adds of a matrix product.
inline constexpr std::int64_t serial_work = 1 << 14;
inline constexpr std::int64_t products_per_work = 32;
/// Indices with less work than this are handed out several at a time.
inline constexpr std::int64_t piece_work = 1 << 10;

#if defined(_OPENMP)
inline namespace with_openmp {

/// Threads that a loop begun here would have: one inside another loop.
inline std::int64_t threads_here() { return ThisThread::in_loop() || omp_in_parallel() ? 1 : num_threads(); }

/// Whether so many threads have a core each. Those that have none do not spin while they wait.
inline bool have_cores(int threads) {
  static const int cores = omp_get_num_procs();
  return threads <= cores;
}

/// Puts a helper where OpenMP would put its k-th thread, when OMP_PROC_BIND says that threads are bound. Without memory it stays unbound.
inline void place_helper(std::thread& helper, int k) noexcept try {
  const int places = omp_get_num_places();
  if (omp_get_proc_bind() == omp_proc_bind_false || places == 0) return;
  const int place = ((std::max)(omp_get_place_num(), 0) + k) % places;
  std::vector<int> cores(static_cast<std::size_t>(omp_get_place_num_procs(place)));
  omp_get_place_proc_ids(place, cores.data());
  detail::bind_thread(helper, cores.data(), static_cast<int>(cores.size()));
} catch (const std::bad_alloc&) {
}

/// Calls f(i) for i in [0, count), on several threads when count * work is large enough and no parallel region is active. `work` is the
/// cost of one index. Callers cut their work at sizes that do not depend on the number of threads, so that results do not either. Any
/// thread may get any index, mostly the same at each call. The first exception of f is thrown again when all threads have left it.
template <class F>
void parallel_for(std::int64_t count, std::int64_t work, const F& f) {
  const auto threads = static_cast<int>((std::min)({std::int64_t{num_threads()}, count, Share::most_members}));
  if (threads <= 1 || work < serial_work / count || ThisThread::in_loop() || omp_in_parallel()) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  const std::int64_t least = ceil_div(count, Share::most_pieces), most = ceil_div(count, 8 * threads);
  const std::int64_t step = (std::clamp)(piece_work / (std::max)(work, std::int64_t{1}), least, most);
  const auto run = [](const void* body, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) (*static_cast<const F*>(body))(i);
  };
  ThisTeam::get().run(Loop{run, &f, count, step, work}, threads, have_cores(threads), &place_helper);
}

}  // namespace with_openmp
#else
inline namespace without_openmp {

inline std::int64_t threads_here() { return 1; }

template <class F>
void parallel_for(std::int64_t count, std::int64_t /*work*/, const F& f) {
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

}  // namespace without_openmp
#endif

/// Cuts n elements into blocks of `block` and calls f(begin, end) for each; `work` is the cost of one element.
template <class F>
void parallel_blocks(std::int64_t n, std::int64_t block, std::int64_t work, const F& f) {
  parallel_for(ceil_div(n, block), (std::min)(n, block) * work, [&](std::int64_t i) { f(i * block, (std::min)(n, (i + 1) * block)); });
}

/// Block length for rows of `cols` elements: about 8192 elements, at least one row.
inline std::int64_t rows_per_block(std::int64_t cols) { return (std::max)(std::int64_t{1}, 8192 / (std::max)(std::int64_t{1}, cols)); }

}  // namespace llm::cpu
