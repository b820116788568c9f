// RMSNorm's kernels against the reference: on the CPU through the emulator, in three thread orders, or on a GPU when compiled by nvcc.
#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <support/same_bits.hpp>
#include <type_traits>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/rms_norm.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::bf16;
using llm::Cuda;
using llm::Rounding;
using llm_test::can_run;
using llm_test::check_close;
using llm_test::check_same_in_each_order;
using llm_test::DeviceArray;
using llm_test::in_each_order;
using llm_test::largest;
using llm_test::random_values;
using llm_test::same_bits;
using llm_test::unread;
using llm_test::widened;

struct Sizes {
  std::int64_t rows, cols;
};

/// Inputs of one case, and the exact statistics of its rows.
template <class T>
struct Case {
  Sizes size;
  std::vector<T> x, gain, dy, old_dx;
  std::vector<llm::compute_t<T>> old_dgain;
  std::vector<double> inv_rms;
  static constexpr double eps = 1e-5;

  explicit Case(Sizes s)
      : size(s),
        x(random_values<T>(s.rows * s.cols, 1)),
        gain(random_values<T>(s.cols, 2)),
        dy(random_values<T>(s.rows * s.cols, 3)),
        old_dx(random_values<T>(s.rows * s.cols, 4)),
        old_dgain(random_values<llm::compute_t<T>>(s.cols, 5)),
        inv_rms(static_cast<std::size_t>(s.rows)) {
    std::vector<double> y(x.size());
    llm::reference::rms_norm_forward<double>(widened(x).data(), widened(gain).data(), y.data(), inv_rms.data(), s.rows, s.cols, eps,
                                             Rounding::gain_then_round);
  }
};

/// The same rounding as the reference in T. In bf16 the order of the sum changes hardly a number, another rounding order many.
template <class T>
void check_forward(const Case<T>& c, Rounding rounding, std::size_t offset) {
  using C = llm::compute_t<T>;
  std::vector<T> expected(c.x.size());
  llm::reference::rms_norm_forward<T>(c.x.data(), c.gain.data(), expected.data(), nullptr, c.size.rows, c.size.cols, c.eps, rounding);
  DeviceArray<T> x(c.x, offset), gain(c.gain), y(c.x.size());
  DeviceArray<C> inv_rms(static_cast<std::size_t>(c.size.rows));
  Cuda::rms_norm_forward<T>(x.data(), gain.data(), y.data(), inv_rms.data(), c.size.rows, c.size.cols, c.eps, rounding);
  if constexpr (std::is_same_v<T, bf16>) {
    std::size_t different = 0;
    const std::vector<bf16> found = y.values();
    for (std::size_t i = 0; i < found.size(); ++i) different += found[i].bits != expected[i].bits ? 1u : 0u;
    CHECK(different <= found.size() / 100);
  } else {
    check_close(y.values(), expected, largest(expected));
  }
  check_close(inv_rms.values(), c.inv_rms, largest(c.inv_rms));
  DeviceArray<T> z(c.x.size());
  Cuda::rms_norm_forward<T>(x.data(), gain.data(), z.data(), nullptr, c.size.rows, c.size.cols, c.eps, rounding);
  CHECK(same_bits(y.values(), z.values()));
}

template <class T>
void check_backward(const Case<T>& c, bool add) {
  using C = llm::compute_t<T>;
  std::vector<double> expected_dx = widened(c.old_dx), expected_dgain = widened(c.old_dgain);
  llm::reference::rms_norm_backward<double>(widened(c.dy).data(), widened(c.x).data(), widened(c.gain).data(), c.inv_rms.data(),
                                            expected_dx.data(), expected_dgain.data(), c.size.rows, c.size.cols, add, add);
  DeviceArray<T> dy(c.dy), x(c.x), gain(c.gain);
  DeviceArray<T> added(c.old_dx), &dx = add ? added : dy;  // dx may be dy
  DeviceArray<C> dgain(add ? c.old_dgain : unread<C>(c.old_dgain.size())), inv_rms(std::vector<C>(c.inv_rms.begin(), c.inv_rms.end()));
  Cuda::rms_norm_backward<T>(dy.data(), x.data(), gain.data(), inv_rms.data(), dx.data(), dgain.data(), c.size.rows, c.size.cols, add, add);
  check_close(dx.values(), expected_dx, largest(c.inv_rms) * largest(c.dy) * largest(c.gain) + largest(c.old_dx));
  check_close(dgain.values(), expected_dgain, largest(expected_dgain) + largest(c.dy));
}

template <class T>
void check_all_sizes() {
  if (!can_run()) return;
  in_each_order([] {
    for (const std::int64_t rows : {0, 1, 5})
      for (const std::int64_t cols : {1, 7, 32, 33, 200, 1032}) {
        CAPTURE(rows, cols);
        const Case<T> c({rows, cols});
        check_forward(c, Rounding::round_then_gain, 0);
        check_forward(c, Rounding::gain_then_round, 1);
        check_backward(c, false);
        check_backward(c, true);
      }
  });
}

}  // namespace

TEST_CASE("RMSNorm of floats agrees with the reference") { check_all_sizes<float>(); }

TEST_CASE("RMSNorm of bf16 agrees with the reference in both rounding orders") { check_all_sizes<bf16>(); }

TEST_CASE("RMSNorm of doubles agrees with the reference") {
  if (!can_run()) return;
  const Case<double> c({3, 200});
  check_forward(c, Rounding::round_then_gain, 0);
  check_backward(c, true);
}

TEST_CASE("The two rounding orders of RMSNorm differ in bf16") {
  if (!can_run()) return;
  const Case<bf16> c({3, 200});
  DeviceArray<bf16> x(c.x), gain(c.gain), a(c.x.size()), b(c.x.size());
  Cuda::rms_norm_forward<bf16>(x.data(), gain.data(), a.data(), nullptr, 3, 200, c.eps, Rounding::round_then_gain);
  Cuda::rms_norm_forward<bf16>(x.data(), gain.data(), b.data(), nullptr, 3, 200, c.eps, Rounding::gain_then_round);
  CHECK_FALSE(same_bits(a.values(), b.values()));
}

TEST_CASE("RMSNorm gives the same bits in every thread order") {
  if (!can_run()) return;
  check_same_in_each_order([] {
    const Case<float> c({8, 200});
    DeviceArray<float> x(c.x), gain(c.gain), dy(c.dy), y(c.x.size()), dx(c.x.size()), dgain(c.gain.size()), inv_rms(8);
    Cuda::rms_norm_forward<float>(x.data(), gain.data(), y.data(), inv_rms.data(), 8, 200, c.eps, Rounding::round_then_gain);
    Cuda::rms_norm_backward<float>(dy.data(), x.data(), gain.data(), inv_rms.data(), dx.data(), dgain.data(), 8, 200, false, false);
    return std::vector{y.values(), dx.values(), dgain.values()};
  });
}

TEST_CASE("RMSNorm covers more rows than blocks, and rows too wide for shared memory") {
  if (!can_run()) return;
  // 33 columns take two warps, so that a block sum that is not over when the next row begins shows
  const Case<float> more_than_partial_rows({515, 33});
  check_backward(more_than_partial_rows, false);
  if (llm_test::many_threads) {  // the loop over rows is the same as above
    const Case<float> more_than_forward_blocks({2051, 33});
    check_forward(more_than_forward_blocks, Rounding::round_then_gain, 0);
  }
  const Case<float> wide({2, 12'292});
  check_forward(wide, Rounding::round_then_gain, 0);
  check_backward(wide, true);
}

#if defined(__CUDACC__)
TEST_CASE("Without a device the error names the call [deviceless]", "[deviceless]") {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (status == cudaSuccess && count > 0) return;
  CHECK_THROWS_WITH(Cuda::memory::allocate(64), Catch::Contains("cudaMalloc of 64 bytes: " + std::string(cudaGetErrorName(status))));
}
#endif
