// Kernels of softmax and cross-entropy against the reference: on the CPU through the emulator, in three thread orders, or on a GPU.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/cross_entropy.hpp>
#include <llm/backend/reference/softmax.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::bf16;
using llm::Cuda;
using llm_test::can_run;
using llm_test::check_close;
using llm_test::check_same_in_each_order;
using llm_test::DeviceArray;
using llm_test::in_each_order;
using llm_test::largest;
using llm_test::random_values;
using llm_test::unread;
using llm_test::widened;
namespace reference = llm::reference;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Logits [rows, cols] that are far apart, with a large one that each row meets late, and some of -inf.
template <class T>
std::vector<T> random_logits(std::int64_t rows, std::int64_t cols) {
  std::vector<T> x = random_values<T>(rows * cols, 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = T(5 * static_cast<float>(x[i]));
    const std::size_t column = i % static_cast<std::size_t>(cols);
    if (column % 5 == 3) x[i] = T(-infinity);
    if (column == static_cast<std::size_t>(cols) / 2) x[i] = T(100.0f);
  }
  return x;
}

/// In place when not `add`.
template <class T>
void check_softmax(std::int64_t rows, std::int64_t cols, std::size_t offset, bool add) {
  const auto x = random_logits<T>(rows, cols), dy = random_values<T>(rows * cols, 2), old_dx = random_values<T>(rows * cols, 3);
  std::vector<double> y(x.size()), dx = widened(old_dx);
  reference::softmax_forward<double>(widened(x).data(), y.data(), rows, cols);
  DeviceArray<T> d_x(x, offset), d_y(x.size()), d_dy(dy), d_dx(add ? old_dx : unread<T>(x.size()));
  Cuda::softmax_forward<T>(d_x.data(), add ? d_y.data() : d_x.data(), rows, cols);
  const std::vector<T> found = add ? d_y.values() : d_x.values();
  check_close(found, y, 100 * largest(y));  // exponents of 100 are rounded before exp
  reference::softmax_backward<double>(widened(dy).data(), widened(found).data(), dx.data(), rows, cols, add);
  Cuda::softmax_backward<T>(d_dy.data(), add ? d_y.data() : d_x.data(), d_dx.data(), rows, cols, add);
  check_close(d_dx.values(), dx, largest(dy) + largest(old_dx));
}

/// Every third target is `ignore`.
template <class Index>
std::vector<Index> some_targets(std::int64_t rows, std::int64_t V, std::int64_t ignore) {
  std::vector<Index> targets;
  for (std::int64_t r = 0; r < rows; ++r) targets.push_back(static_cast<Index>(r % 3 == 1 ? ignore : (7 * r + V - 1) % V));
  return targets;
}

/// In place with int64_t indices and an odd address.
template <class T, class Index>
void check_cross_entropy(std::int64_t rows, std::int64_t V, bool in_place) {
  using C = llm::compute_t<T>;
  constexpr std::int64_t ignore = -100;
  constexpr double scale = 0.25;
  const auto x = random_values<T>(rows * V, 1);
  const auto targets = some_targets<Index>(rows, V, ignore);
  std::vector<double> losses(targets.size()), lse(targets.size()), dx(x.size());
  reference::cross_entropy_forward<double>(widened(x).data(), targets.data(), losses.data(), lse.data(), rows, V, ignore);
  reference::cross_entropy_backward<double>(widened(x).data(), targets.data(), lse.data(), scale, dx.data(), rows, V, ignore);
  DeviceArray<T> d_x(x, in_place ? 1 : 0), d_dx(x.size());
  DeviceArray<Index> d_targets(targets);
  DeviceArray<C> d_losses(targets.size()), d_lse(targets.size());
  Cuda::cross_entropy_forward<T>(d_x.data(), d_targets.data(), d_losses.data(), d_lse.data(), rows, V, ignore);
  Cuda::cross_entropy_backward<T>(d_x.data(), d_targets.data(), d_lse.data(), scale, in_place ? d_x.data() : d_dx.data(), rows, V, ignore);
  check_close(d_losses.values(), losses, largest(lse) + largest(x));
  check_close(d_lse.values(), lse, largest(lse) + largest(x));
  check_close(in_place ? d_x.values() : d_dx.values(), dx, 10 * scale);
}

template <class T>
void check_all_sizes() {
  if (!can_run()) return;
  in_each_order([] {
    for (const std::int64_t rows : {0, 1, 5})
      for (const std::int64_t cols : {1, 7, 32, 33, 200, 1537}) {
        CAPTURE(rows, cols);
        check_softmax<T>(rows, cols, 0, true);
        check_softmax<T>(rows, cols, 1, false);
        check_cross_entropy<T, std::int32_t>(rows, cols, false);
        check_cross_entropy<T, std::int64_t>(rows, cols, true);
      }
  });
}

}  // namespace

TEST_CASE("Softmax and cross-entropy of floats agree with the reference") { check_all_sizes<float>(); }

TEST_CASE("Softmax and cross-entropy of bf16 agree with the reference") { check_all_sizes<bf16>(); }

TEST_CASE("Softmax and cross-entropy of doubles agree with the reference") {
  if (!can_run()) return;
  check_softmax<double>(3, 200, 0, true);
  check_cross_entropy<double, std::int32_t>(3, 200, false);
}

TEST_CASE("Softmax and cross-entropy of rows with infinities and NaN are the reference's") {
  if (!can_run()) return;
  constexpr std::int64_t cols = 68;
  for (const float special : {infinity, -infinity, std::nanf("")})
    for (const std::size_t count : {std::size_t{1}, std::size_t{cols}}) {
      CAPTURE(special, count);
      std::vector<float> x(cols, 1.0f), y(cols);
      for (std::size_t i = 0; i < count; ++i) x[cols - 1 - i] = special;
      const std::vector<std::int32_t> targets{2};
      float loss = 0, lse = 0;
      reference::softmax_forward<float>(x.data(), y.data(), 1, cols);
      reference::cross_entropy_forward<float>(x.data(), targets.data(), &loss, &lse, 1, cols, -1);
      DeviceArray<float> d_x(x), d_y(cols), d_loss(1), d_lse(1);
      DeviceArray<std::int32_t> d_targets(targets);
      Cuda::softmax_forward<float>(d_x.data(), d_y.data(), 1, cols);
      Cuda::cross_entropy_forward<float>(d_x.data(), d_targets.data(), d_loss.data(), d_lse.data(), 1, cols, -1);
      const auto agree = [](float a, float b) { return std::isnan(a) ? std::isnan(b) : a == b || std::fabs(a - b) < 1e-5f; };
      const std::vector<float> found = d_y.values();
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(agree(found[i], y[i]));
      CHECK(agree(d_loss.values()[0], loss));
      CHECK(agree(d_lse.values()[0], lse));
    }
}

TEST_CASE("The cross-entropy of ignored rows without logits is 0") {
  if (!can_run()) return;
  DeviceArray<float> logits(0), losses(2), lse(2);
  DeviceArray<std::int32_t> targets(std::vector<std::int32_t>{-1, -1});
  Cuda::cross_entropy_forward<float>(logits.data(), targets.data(), losses.data(), lse.data(), 2, 0, -1);
  CHECK(losses.values() == std::vector<float>{0, 0});
  CHECK(lse.values() == std::vector<float>{-infinity, -infinity});
}

TEST_CASE("Softmax and cross-entropy give the same bits in every thread order") {
  if (!can_run()) return;
  const auto x = random_logits<float>(5, 200), dy = random_values<float>(1000, 2);
  const auto targets = some_targets<std::int32_t>(5, 200, -1);
  check_same_in_each_order([&] {
    DeviceArray<float> d_x(x), d_dy(dy), y(x.size()), dx(x.size()), losses(5), lse(5), dlogits(x.size());
    DeviceArray<std::int32_t> d_targets(targets);
    Cuda::softmax_forward<float>(d_x.data(), y.data(), 5, 200);
    Cuda::softmax_backward<float>(d_dy.data(), y.data(), dx.data(), 5, 200, false);
    Cuda::cross_entropy_forward<float>(d_x.data(), d_targets.data(), losses.data(), lse.data(), 5, 200, -1);
    Cuda::cross_entropy_backward<float>(d_x.data(), d_targets.data(), lse.data(), 0.5, dlogits.data(), 5, 200, -1);
    return std::vector{y.values(), dx.values(), lse.values(), dlogits.values()};
  });
}

TEST_CASE("Indices outside their range are found, and targets counted") {
  if (!can_run()) return;
  in_each_order([] {
    std::vector<std::int64_t> ids(2500);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i) % 10;
    const auto outside = [&](std::int64_t V) {
      DeviceArray<std::int64_t> on_device(ids);
      return Cuda::index_outside(on_device.data(), 2500, V);
    };
    const auto count = [&](std::int64_t V, std::int64_t ignore) {
      DeviceArray<std::int64_t> on_device(ids);
      return Cuda::count_targets(on_device.data(), 2500, V, ignore);
    };
    CHECK(outside(10) == -1);
    CHECK(outside(9) == 9);
    CHECK(count(10, -1) == 2500);
    CHECK(count(10, 3) == 2250);
    CHECK(count(9, 9) == 2250);
    CHECK(count(9, 3) == -1 - 9);
    ids[2400] = -100, ids[1376] = -1;  // of one thread, which must keep the first
    CHECK(outside(10) == 1376);
    CHECK(count(10, -100) == -1 - 1376);
    CHECK(count(10, -1) == -1 - 2400);
    DeviceArray<std::int32_t> none(0);
    CHECK(Cuda::index_outside(none.data(), 0, 0) == -1);
    CHECK(Cuda::count_targets(none.data(), 0, 0, 0) == 0);
  });
}
