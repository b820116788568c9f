// What the tests of CUDA kernels share: arrays in the backend's memory, orders of threads, numbers, and their comparison.
#pragma once

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

#include <llm/backend/cuda/memory.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/rng.hpp>

namespace llm_test {

/// Whether kernels can run; says so when not.
inline bool can_run() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  static_cast<void>(cudaGetLastError());
  WARN("skipped: no CUDA device");
  return false;
}

/// Whether a test may start a hundred thousand threads: under ThreadSanitizer they take half a minute.
#if defined(__CUDACC__)
inline constexpr bool many_threads = true;
#else
inline constexpr bool many_threads = !CUDA_EMULATOR_TSAN;
#endif

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

/// Runs a test in each order; the arrays that it returns must have the same bits in all.
template <class F>
void check_same_in_each_order(F results_of_test) {
  decltype(results_of_test()) first;
  in_each_order([&] {
    const auto results = results_of_test();
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
  });
}

/// What must not be read.
template <class T>
std::vector<T> unread(std::size_t count) {
  return std::vector<T>(count, T(std::nanf("")));
}

/// An array in the backend's memory; `offset` elements in front make the address an odd one.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values, std::size_t offset = 0)
      : size_(values.size()), offset_(offset), base_(static_cast<T*>(llm::CudaMemory::allocate(bytes()))) {
    llm::CudaMemory::copy_from_host(data(), values.data(), size_ * sizeof(T));
  }
  explicit DeviceArray(std::size_t size) : DeviceArray(unread<T>(size)) {}
  ~DeviceArray() { llm::CudaMemory::release(base_, bytes()); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return base_ + offset_; }
  std::vector<T> values() {
    std::vector<T> result(size_);
    llm::CudaMemory::copy_to_host(result.data(), data(), size_ * sizeof(T));
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
inline constexpr double tolerance = std::is_same_v<T, llm::bf16> ? 1.0 / 256 : 0.0;
template <class T>
inline constexpr double sum_tolerance = std::is_same_v<T, double> ? 1e-14 : 2e-6;

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

}  // namespace llm_test
