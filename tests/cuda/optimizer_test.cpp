// Kernels over lists of arrays, which are AdamW and whole sums, against the reference: on the CPU through the emulator, in three thread
// orders, or on a GPU when compiled by nvcc.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/elementwise.hpp>
#include <llm/backend/reference/optimizer.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::bf16;
using llm::compute_t;
using llm::Cuda;
using llm_test::can_run;
using llm_test::check_close;
using llm_test::check_same_in_each_order;
using llm_test::DeviceArray;
using llm_test::in_each_order;
using llm_test::largest;
using llm_test::random_values;
namespace reference = llm::reference;

// Empty parts between others and at both ends, parts that fill chunks exactly or not, and at odd addresses (each second one).
constexpr std::int64_t chunk = llm::device::chunk_elements;
const std::vector<std::int64_t> part_sizes{0, 1, 7, 64, 0, 0, chunk, 2 * chunk + 5, 33, 0};

template <class T>
std::vector<std::vector<T>> random_parts(std::uint64_t stream) {
  std::vector<std::vector<T>> parts;
  for (const std::int64_t n : part_sizes) parts.push_back(random_values<T>(n, stream++));
  return parts;
}

/// Arrays on the device, each second one at an odd address.
template <class T>
std::vector<std::unique_ptr<DeviceArray<T>>> on_device(const std::vector<std::vector<T>>& parts) {
  std::vector<std::unique_ptr<DeviceArray<T>>> arrays;
  for (std::size_t i = 0; i < parts.size(); ++i) arrays.push_back(std::make_unique<DeviceArray<T>>(parts[i], i % 2));
  return arrays;
}

template <class T>
double squares_on_device(std::vector<std::unique_ptr<DeviceArray<T>>>& arrays) {
  std::vector<llm::Elements<T>> list;
  for (std::size_t i = 0; i < arrays.size(); ++i) list.push_back({arrays[i]->data(), part_sizes[i]});
  return Cuda::sum_of_squares<T>(list.data(), static_cast<std::int64_t>(list.size()));
}

template <class T>
double squares_of_reference(const std::vector<std::vector<T>>& parts) {
  std::vector<llm::Elements<T>> list;
  for (const std::vector<T>& part : parts) list.push_back({part.data(), static_cast<std::int64_t>(part.size())});
  return reference::sum_of_squares<T>(list.data(), static_cast<std::int64_t>(list.size()));
}

template <class T>
void check_sums() {
  if (!can_run()) return;
  const auto parts = random_parts<T>(1);
  const double squares = squares_of_reference(parts);
  in_each_order([&] {
    auto arrays = on_device(parts);
    CHECK(squares_on_device(arrays) == Approx(squares).epsilon(1e-13));
    for (std::size_t i = 0; i < parts.size(); ++i)
      CHECK(Cuda::sum<T>(arrays[i]->data(), part_sizes[i]) == Approx(reference::sum<T>(parts[i].data(), part_sizes[i])).margin(1e-10));
    CHECK(Cuda::sum_of_squares<T>(nullptr, 0) == 0);
  });
}

/// The parameters of one step, on the host or on the device.
template <class T>
struct State {
  std::vector<std::vector<T>> param = random_parts<T>(1);
  std::vector<std::vector<compute_t<T>>> master = random_parts<compute_t<T>>(1), grad = random_parts<compute_t<T>>(50),
                                         m = random_parts<compute_t<T>>(100), v = random_parts<compute_t<T>>(150);
  State() {
    for (auto& part : v)
      for (auto& value : part) value *= value;  // a mean of squares
  }
};

constexpr double max_norm = 2.0;

/// A second step, with gradients clipped to max_norm.
llm::AdamWArgs step_two(double squares) {
  const double scale = max_norm / std::sqrt(squares);
  return {.lr = 0.01, .correction1 = 1 - 0.9 * 0.9, .correction2 = 1 - 0.95 * 0.95, .grad_scale = scale};
}
double decay_of(std::size_t part) { return part % 3 == 0 ? 0.0 : 0.1; }

template <class T>
State<T> step_of_reference(bool with_master) {
  State<T> s;
  const llm::AdamWArgs args = step_two(squares_of_reference(s.grad));
  std::vector<llm::AdamWPart<T>> parts;
  for (std::size_t i = 0; i < part_sizes.size(); ++i)
    parts.push_back({s.param[i].data(), with_master ? s.master[i].data() : nullptr, s.grad[i].data(), s.m[i].data(), s.v[i].data(),
                     part_sizes[i], decay_of(i)});
  reference::adamw<T>(args, parts.data(), static_cast<std::int64_t>(parts.size()));
  return s;
}

template <class T>
State<T> step_on_device(bool with_master) {
  State<T> s;
  auto param = on_device(s.param);
  auto master = on_device(s.master), grad = on_device(s.grad), m = on_device(s.m), v = on_device(s.v);
  const llm::AdamWArgs args = step_two(squares_on_device(grad));
  std::vector<llm::AdamWPart<T>> parts;
  for (std::size_t i = 0; i < part_sizes.size(); ++i)
    parts.push_back({param[i]->data(), with_master ? master[i]->data() : nullptr, grad[i]->data(), m[i]->data(), v[i]->data(),
                     part_sizes[i], decay_of(i)});
  Cuda::adamw<T>(args, parts.data(), static_cast<std::int64_t>(parts.size()));
  for (std::size_t i = 0; i < part_sizes.size(); ++i) {
    s.param[i] = param[i]->values(), s.master[i] = master[i]->values(), s.m[i] = m[i]->values(), s.v[i] = v[i]->values();
  }
  return s;
}

template <class T>
void check_adamw() {
  if (!can_run()) return;
  for (const bool with_master : {false, true}) {
    const State<T> expected = step_of_reference<T>(with_master);
    in_each_order([&] {
      const State<T> found = step_on_device<T>(with_master);
      for (std::size_t i = 0; i < part_sizes.size(); ++i) {
        CAPTURE(with_master, i);
        check_close(found.param[i], expected.param[i], largest(expected.param[i]));
        check_close(found.master[i], expected.master[i], largest(expected.master[i]));
        check_close(found.m[i], expected.m[i], largest(expected.m[i]));
        check_close(found.v[i], expected.v[i], largest(expected.v[i]));
      }
    });
  }
}

}  // namespace

TEST_CASE("Sums and sums of squares of floats are the reference's in double") { check_sums<float>(); }

TEST_CASE("Sums and sums of squares of bf16 are the reference's in double") { check_sums<bf16>(); }

TEST_CASE("A sum of squares with infinity or NaN is not finite") {
  if (!can_run()) return;
  for (const float special : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> x(100, 1.0f);
    x[70] = special;
    DeviceArray<float> array(x);
    const llm::Elements<float> list{array.data(), 100};
    CHECK_FALSE(std::isfinite(Cuda::sum_of_squares<float>(&list, 1)));
  }
}

TEST_CASE("Sums go over more chunks than blocks") {
  if (!can_run() || !llm_test::many_threads) return;
  constexpr std::int64_t n = 2 * llm::device::most_chunk_blocks + 3;
  DeviceArray<float> array(std::vector<float>(n, 2.0f));
  std::vector<llm::Elements<float>> list;
  for (std::int64_t i = 0; i < n; ++i) list.push_back({array.data() + i, 1});
  CHECK(Cuda::sum_of_squares<float>(list.data(), n) == 4 * n);
}

TEST_CASE("An AdamW step with clipped gradients of floats agrees with the reference") { check_adamw<float>(); }

TEST_CASE("An AdamW step with clipped gradients of bf16 agrees with the reference") { check_adamw<bf16>(); }

TEST_CASE("Sums and AdamW have the same bits in every thread order") {
  if (!can_run()) return;
  check_same_in_each_order([] {
    const State<float> found = step_on_device<float>(true);
    std::vector<std::vector<float>> results = found.param;
    results.insert(results.end(), found.m.begin(), found.m.end());
    return results;
  });
}
