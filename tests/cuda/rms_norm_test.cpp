// RMSNorm's kernels against the reference: on the CPU through the emulator, in three thread orders, or on a GPU when compiled by nvcc.
#if !defined(__CUDACC__)
#include <support/cuda_emulator.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <support/same_bits.hpp>
#include <type_traits>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/rms_norm.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/rng.hpp>

namespace {

using llm::bf16;
using llm::Cuda;
using llm::Rounding;
using llm_test::same_bits;

// The signatures of the backend concept.
template <class B, class T>
concept has_rms_norm = requires(T* y, const T* x, llm::compute_t<T>* stat, const llm::compute_t<T>* cstat, std::int64_t n, bool add,
                                double s) {
  B::template rms_norm_forward<T>(x, x, y, stat, n, n, s, Rounding::round_then_gain);
  B::template rms_norm_backward<T>(x, x, x, cstat, y, stat, n, n, add, add);
};
static_assert(has_rms_norm<Cuda, float> && has_rms_norm<Cuda, double> && has_rms_norm<Cuda, bf16>);
static_assert(llm::memory_space<Cuda::memory>);

/// Whether kernels can run; says so when not.
bool can_run() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  static_cast<void>(cudaGetLastError());
  WARN("skipped: no CUDA device");
  return false;
}

/// Runs a test in each order of threads (ThreadSanitizer: the random one finds what the others find), or once on a device.
template <class F>
void in_each_order(F test) {
#if defined(__CUDACC__)
  test();
#else
  using cuda_emulator::Order;
  std::vector<Order> orders{Order::random};
  if (!CUDA_EMULATOR_TSAN) orders.insert(orders.begin(), {Order::ascending, Order::descending});
  for (const Order order : orders) {
    cuda_emulator::settings.order = order;
    CAPTURE(static_cast<int>(order));
    test();
  }
  cuda_emulator::settings.order = Order::ascending;
#endif
}

/// An array in the backend's memory; `offset` elements in front make the address an odd one.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values, std::size_t offset = 0)
      : size_(values.size()), offset_(offset), base_(static_cast<T*>(Cuda::memory::allocate(bytes()))) {
    Cuda::memory::copy_from_host(data(), values.data(), size_ * sizeof(T));
  }
  explicit DeviceArray(std::size_t size) : DeviceArray(std::vector<T>(size, T(std::nanf("")))) {}
  ~DeviceArray() { Cuda::memory::release(base_, bytes()); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return base_ + offset_; }
  std::vector<T> values() {
    std::vector<T> result(size_);
    Cuda::memory::copy_to_host(result.data(), data(), size_ * sizeof(T));
    return result;
  }

 private:
  std::size_t bytes() const { return (size_ + offset_) * sizeof(T); }
  std::size_t size_, offset_;
  T* base_;
};

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(llm::normal_at(7, stream, i));
  return values;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

/// Rounding of T, as a part of the number itself. Sums in the compute type add `sum_tolerance` of the largest term.
template <class T>
constexpr double tolerance = std::is_same_v<T, bf16> ? 1.0 / 256 : 0.0;
template <class T>
constexpr double sum_tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;

template <class T>
double largest(const std::vector<T>& values) {
  double result = 0;
  for (const T& v : values) result = (std::max)(result, std::fabs(static_cast<double>(v)));
  return result;
}

/// `term`: the largest term of the sums behind the results, which may cancel.
template <class T, class U>
void check_close(const std::vector<T>& found, const std::vector<U>& expected, double term) {
  REQUIRE(found.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto e = static_cast<double>(expected[i]), difference = std::fabs(static_cast<double>(found[i]) - e);
    if (!(difference <= tolerance<T> * std::fabs(e) + sum_tolerance<T> * term)) ++wrong;
  }
  CHECK(wrong == 0);
}

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
  std::vector<T> dx_before = c.old_dx;
  std::vector<C> dgain_before = c.old_dgain;
  if (!add) {  // must not be read
    std::fill(dx_before.begin(), dx_before.end(), T(std::nanf("")));
    std::fill(dgain_before.begin(), dgain_before.end(), C(std::nanf("")));
  }
  DeviceArray<T> dx(dx_before);
  DeviceArray<C> dgain(dgain_before), inv_rms(std::vector<C>(c.inv_rms.begin(), c.inv_rms.end()));
  Cuda::rms_norm_backward<T>(dy.data(), x.data(), gain.data(), inv_rms.data(), dx.data(), dgain.data(), c.size.rows, c.size.cols, add, add);
  check_close(dx.values(), expected_dx, largest(c.inv_rms) * largest(c.dy) * largest(c.gain) + largest(c.old_dx));
  check_close(dgain.values(), expected_dgain, largest(expected_dgain) + largest(c.dy));
}

template <class T>
void check_all_sizes() {
  if (!can_run()) return;
  in_each_order([] {
    for (const std::int64_t rows : {0, 1, 3, 8})
      for (const std::int64_t cols : {1, 7, 32, 33, 200, 1536}) {
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
  std::vector<std::vector<float>> first;
  in_each_order([&first] {
    const Case<float> c({8, 200});
    DeviceArray<float> x(c.x), gain(c.gain), dy(c.dy), y(c.x.size()), dx(c.x.size()), dgain(c.gain.size()), inv_rms(8);
    Cuda::rms_norm_forward<float>(x.data(), gain.data(), y.data(), inv_rms.data(), 8, 200, c.eps, Rounding::round_then_gain);
    Cuda::rms_norm_backward<float>(dy.data(), x.data(), gain.data(), inv_rms.data(), dx.data(), dgain.data(), 8, 200, false, false);
    const std::vector<std::vector<float>> results{y.values(), dx.values(), dgain.values()};
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
  });
}

TEST_CASE("RMSNorm covers more rows than blocks, and rows too wide for shared memory") {
  if (!can_run()) return;
  // 33 columns take two warps, so that a block sum that is not over when the next row begins shows
  const Case<float> more_than_partial_rows({515, 33});
  check_backward(more_than_partial_rows, false);
#if defined(__CUDACC__) || !CUDA_EMULATOR_TSAN  // too slow under ThreadSanitizer; the loop over rows is the same as above
  const Case<float> more_than_forward_blocks({4099, 33});
  check_forward(more_than_forward_blocks, Rounding::round_then_gain, 0);
#endif
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
