// LayerNorm's kernels against the reference: on the CPU through the emulator, in three thread orders, or on a GPU when compiled by nvcc.
#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/layer_norm.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::bf16;
using llm::Cuda;
using llm_test::can_run;
using llm_test::check_close;
using llm_test::DeviceArray;
using llm_test::largest;
using llm_test::random_values;
using llm_test::unread;
using llm_test::widened;
namespace reference = llm::reference;

constexpr double eps = 1e-5;

/// Inputs of one case, and the exact statistics of its rows.
template <class T>
struct Case {
  std::int64_t rows, cols;
  std::vector<T> x, gain, bias, dy, old_dx;
  std::vector<llm::compute_t<T>> old_dgain, old_dbias;
  std::vector<double> y, mean, inv_std;

  Case(std::int64_t rows_, std::int64_t cols_)
      : rows(rows_),
        cols(cols_),
        x(random_values<T>(rows * cols, 1)),
        gain(random_values<T>(cols, 2)),
        bias(random_values<T>(cols, 3)),
        dy(random_values<T>(rows * cols, 4)),
        old_dx(random_values<T>(rows * cols, 5)),
        old_dgain(random_values<llm::compute_t<T>>(cols, 6)),
        old_dbias(random_values<llm::compute_t<T>>(cols, 7)),
        y(x.size()),
        mean(static_cast<std::size_t>(rows)),
        inv_std(mean.size()) {
    reference::layer_norm_forward<double>(widened(x).data(), widened(gain).data(), widened(bias).data(), y.data(), mean.data(),
                                          inv_std.data(), rows, cols, eps);
  }
};

template <class T>
void check_forward(const Case<T>& c, std::size_t offset) {
  using C = llm::compute_t<T>;
  DeviceArray<T> x(c.x, offset), gain(c.gain), bias(c.bias), y(c.x.size()), z(c.x.size());
  DeviceArray<C> mean(c.mean.size()), inv_std(c.mean.size());
  Cuda::layer_norm_forward<T>(x.data(), gain.data(), bias.data(), y.data(), mean.data(), inv_std.data(), c.rows, c.cols, eps);
  Cuda::layer_norm_forward<T>(x.data(), gain.data(), bias.data(), z.data(), nullptr, nullptr, c.rows, c.cols, eps);
  const double term = (largest(c.x) + largest(c.mean)) * largest(c.inv_std) * largest(c.gain) + largest(c.bias);
  check_close(y.values(), c.y, term);
  check_close(z.values(), c.y, term);
  check_close(mean.values(), c.mean, largest(c.x));
  check_close(inv_std.values(), c.inv_std, largest(c.inv_std));
}

/// In place when not `add`.
template <class T>
void check_backward(const Case<T>& c, bool add) {
  using C = llm::compute_t<T>;
  std::vector<double> expected_dx = widened(c.old_dx), expected_dgain = widened(c.old_dgain), expected_dbias = widened(c.old_dbias);
  reference::layer_norm_backward<double>(widened(c.dy).data(), widened(c.x).data(), widened(c.gain).data(), c.mean.data(), c.inv_std.data(),
                                         expected_dx.data(), expected_dgain.data(), expected_dbias.data(), c.rows, c.cols, add, add);
  DeviceArray<T> dy(c.dy), x(c.x), gain(c.gain), added(c.old_dx), &dx = add ? added : dy;
  DeviceArray<C> dgain(add ? c.old_dgain : unread<C>(c.old_dgain.size())), dbias(add ? c.old_dbias : unread<C>(c.old_dgain.size()));
  DeviceArray<C> mean(std::vector<C>(c.mean.begin(), c.mean.end())), inv_std(std::vector<C>(c.inv_std.begin(), c.inv_std.end()));
  Cuda::layer_norm_backward<T>(dy.data(), x.data(), gain.data(), mean.data(), inv_std.data(), dx.data(), dgain.data(), dbias.data(), c.rows,
                               c.cols, add, add);
  const double normalised = (largest(c.x) + largest(c.mean)) * largest(c.inv_std);
  check_close(dx.values(), expected_dx, largest(c.inv_std) * largest(c.dy) * largest(c.gain) * (1 + normalised) + largest(c.old_dx));
  check_close(dgain.values(), expected_dgain, largest(expected_dgain) + largest(c.dy) * (1 + normalised));
  check_close(dbias.values(), expected_dbias, largest(expected_dbias) + largest(c.dy));
}

template <class T>
void check_all_sizes() {
  if (!can_run()) return;
  llm_test::in_each_order([] {
    for (const std::int64_t rows : {0, 1, 5})
      for (const std::int64_t cols : {2, 7, 32, 33, 200, 1032}) {
        CAPTURE(rows, cols);
        const Case<T> c(rows, cols);
        check_forward(c, rows % 2 == 0 ? 0 : 1);
        check_backward(c, false);
        check_backward(c, true);
      }
  });
}

}  // namespace

TEST_CASE("LayerNorm of floats agrees with the reference") { check_all_sizes<float>(); }

TEST_CASE("LayerNorm of bf16 agrees with the reference") { check_all_sizes<bf16>(); }

TEST_CASE("LayerNorm of doubles agrees with the reference") {
  if (!can_run()) return;
  const Case<double> c(3, 200);
  check_forward(c, 0);
  check_backward(c, true);
}

TEST_CASE("LayerNorm of one column is its bias") {
  if (!can_run()) return;
  DeviceArray<float> x(std::vector<float>{3, -1}), gain(std::vector<float>{2}), bias(std::vector<float>{5}), y(2);
  Cuda::layer_norm_forward<float>(x.data(), gain.data(), bias.data(), y.data(), nullptr, nullptr, 2, 1, eps);
  CHECK(y.values() == std::vector<float>{5, 5});
}

TEST_CASE("LayerNorm gives the same bits in every thread order") {
  if (!can_run()) return;
  const Case<float> c(8, 200);
  llm_test::check_same_in_each_order([&c] {
    DeviceArray<float> x(c.x), gain(c.gain), bias(c.bias), dy(c.dy), y(c.x.size()), dx(c.x.size()), dgain(c.gain.size()),
        dbias(c.gain.size()), mean(c.mean.size()), inv_std(c.mean.size());
    Cuda::layer_norm_forward<float>(x.data(), gain.data(), bias.data(), y.data(), mean.data(), inv_std.data(), 8, 200, eps);
    Cuda::layer_norm_backward<float>(dy.data(), x.data(), gain.data(), mean.data(), inv_std.data(), dx.data(), dgain.data(), dbias.data(),
                                     8, 200, false, false);
    return std::vector{y.values(), mean.values(), inv_std.values(), dx.values(), dgain.values(), dbias.values()};
  });
}

TEST_CASE("LayerNorm covers more rows than parts, and rows too wide for shared memory") {
  if (!can_run()) return;
  // 33 columns take two warps, so that a block sum that is not over when the next row begins shows
  if (llm_test::many_threads) check_backward(Case<float>(515, 33), false);
  const Case<float> wide(2, 6'148);
  check_forward(wide, 0);
  check_backward(wide, true);
}
