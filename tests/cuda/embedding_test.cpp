// Kernels of the embedding and of the sort behind its gradient: on the CPU through the emulator, in three thread orders, or on a GPU.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <support/same_bits.hpp>
#include <utility>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/cuda/sort.cuh>
#include <llm/backend/reference/embedding.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::bf16;
using llm::Cuda;
using llm_test::can_run;
using llm_test::check_close;
using llm_test::DeviceArray;
using llm_test::in_each_order;
using llm_test::largest;
using llm_test::random_values;
using llm_test::same_bits;
using llm_test::widened;
namespace reference = llm::reference;

/// Ids of [0, V), of which half are 1.
template <class Index>
std::vector<Index> some_ids(std::int64_t n, std::int64_t V) {
  std::vector<Index> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<Index>(i % 2 == 0 ? 1 % V : (i * 2'654'435'761) % V));
  return ids;
}

template <class T, class Index>
void check_embedding(std::int64_t n, std::int64_t D, std::size_t offset) {
  using C = llm::compute_t<T>;
  constexpr std::int64_t V = 11;
  const auto ids = some_ids<Index>(n, V);
  const auto table = random_values<T>(V * D, 1), dy = random_values<T>(n * D, 2);
  const auto dtable = random_values<C>(V * D, 3);
  std::vector<T> y(dy.size());
  std::vector<double> expected = widened(dtable);
  reference::embedding_forward<T>(ids.data(), table.data(), y.data(), n, D);
  reference::embedding_backward<double>(ids.data(), widened(dy).data(), expected.data(), n, V, D);
  DeviceArray<Index> d_ids(ids);
  DeviceArray<T> d_table(table, offset), d_dy(dy, offset), d_y(y.size());
  DeviceArray<C> d_dtable(dtable);
  Cuda::embedding_forward<T>(d_ids.data(), d_table.data(), d_y.data(), n, D);
  Cuda::embedding_backward<T>(d_ids.data(), d_dy.data(), d_dtable.data(), n, V, D);
  CHECK(same_bits(d_y.values(), y));
  // within the rounding of sums alone, as the gradient is not in T
  check_close(d_dtable.values(), expected, largest(expected) + largest(dy));
}

struct Sizes {
  std::int64_t n, D;
};

template <class T>
void check_all_sizes() {
  if (!can_run()) return;
  in_each_order([] {
    // no rows; more rows of one id than a block takes at a time; rows of more columns than a block has, 16 bytes at a time or not
    for (const auto [n, D] : {Sizes{0, 8}, {1, 1}, {2, 33}, {9, 136}, {9, 264}, {40, 8}, {40, 33}}) {
      CAPTURE(n, D);
      check_embedding<T, std::int32_t>(n, D, 0);
      check_embedding<T, std::int64_t>(n, D, 1);
    }
  });
}

void check_sorted(std::int64_t n, std::int64_t V) {
  const auto ids = some_ids<std::int32_t>(n, V);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (std::size_t i = 0; i < ids.size(); ++i) expected.emplace_back(ids[i], i);
  std::sort(expected.begin(), expected.end());
  DeviceArray<std::int32_t> d_ids(ids);
  const llm::device::SortedIds sorted(d_ids.data(), n);
  std::vector<std::uint64_t> found(ids.size());
  Cuda::memory::copy_to_host(found.data(), sorted.keys(), found.size() * sizeof(found[0]));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != (expected[i].first << 32 | expected[i].second) ? 1u : 0u;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("The embedding of floats agrees with the reference") { check_all_sizes<float>(); }

TEST_CASE("The embedding of bf16 agrees with the reference") { check_all_sizes<bf16>(); }

TEST_CASE("Ids are sorted with their positions, within a block and over several") {
  if (!can_run()) return;
  in_each_order([] {
    for (const std::int64_t n : {1, 255, 256, 257, 512, 700, 1025})
      for (const std::int64_t V : {1, 100, 2'000'000'000}) {
        CAPTURE(n, V);
        check_sorted(n, V);
      }
  });
}

TEST_CASE("The gradient of an embedding has the same bits in every thread order") {
  if (!can_run()) return;
  const auto ids = some_ids<std::int32_t>(300, 7);
  const auto dy = random_values<float>(300 * 40, 1);
  llm_test::check_same_in_each_order([&] {
    DeviceArray<std::int32_t> d_ids(ids);
    DeviceArray<float> d_dy(dy), dtable(std::vector<float>(7 * 40));
    Cuda::embedding_backward<float>(d_ids.data(), d_dy.data(), dtable.data(), 300, 7, 40);
    return std::vector<std::vector<float>>{dtable.values()};
  });
}
