// What the kernel tests of all backends share: the list of backends, buffers in a backend's memory, and checking gradients.
// A test program of a further backend defines LLM_KERNEL_TEST_BACKENDS and LLM_KERNEL_TEST_BACKENDS_BF16
// (lists of KernelOn<Backend, scalar>) and includes the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/core/rng.hpp>
#include <support/golden.hpp>

#ifndef LLM_KERNEL_TEST_BACKENDS
#include <llm/backend/cpu/cpu.hpp>
#define LLM_KERNEL_TEST_EXACT(exact) llm::set_f32_activations(exact)
#define LLM_KERNEL_TEST_BACKENDS \
  KernelOn<llm::Reference, float>, KernelOn<llm::Reference, double>, KernelOn<llm::Cpu, float>, KernelOn<llm::Cpu, double>
#define LLM_KERNEL_TEST_BACKENDS_BF16 KernelOn<llm::Reference, llm::bf16>, KernelOn<llm::Cpu, llm::bf16>
#endif

#ifndef LLM_KERNEL_TEST_EXACT
#define LLM_KERNEL_TEST_EXACT(exact) static_cast<void>(exact)
#endif

namespace llm_test {

/// Whether kernels leave activations as they are, for backends that can round them.
inline void exact_activations(bool exact) { LLM_KERNEL_TEST_EXACT(exact); }

/// One column of the kernel tests: a backend and an element type.
template <class B, class T>
struct KernelOn {
  using Backend = B;
  using Scalar = T;
};

using llm::compute_t;

using KernelBackends = std::tuple<LLM_KERNEL_TEST_BACKENDS>;
using KernelBackendsWithBf16 = std::tuple<LLM_KERNEL_TEST_BACKENDS, LLM_KERNEL_TEST_BACKENDS_BF16>;

/// n elements in the memory of backend B: copied from the host, or full of NaN, which any kernel that reads them spreads.
template <class B, class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t n) : size_(static_cast<std::size_t>(n)) {
    data_ = static_cast<T*>(B::memory::allocate(bytes()));
    const std::vector<unsigned char> ones(bytes(), 0xff);
    B::memory::copy_from_host(data_, ones.data(), bytes());
  }
  explicit Buffer(const std::vector<T>& host) : Buffer(static_cast<std::int64_t>(host.size())) {
    B::memory::copy_from_host(data_, host.data(), bytes());
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { B::memory::release(data_, bytes()); }

  operator T*() { return data_; }
  std::vector<T> host() const {
    std::vector<T> copy(size_);
    B::memory::copy_to_host(copy.data(), data_, bytes());
    return copy;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_ = 0;
  T* data_ = nullptr;
};

/// A tensor of a golden file in backend memory.
template <class B, class T>
Buffer<B, T> load(const Golden& golden, const std::string& name) {
  return Buffer<B, T>(golden.tensor<T>(name).values);
}

/// Fixed random numbers, normal with this standard deviation.
template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t seed, double stddev = 1) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(stddev * llm::normal_at(seed, 0, i));
  return values;
}

/// One input of a kernel and of the oracle: values of type T in B's memory, and the same numbers in double.
template <class B, class T>
struct Input {
  Input(std::int64_t n, std::uint64_t seed, double stddev = 1) : Input(random_values<T>(n, seed, stddev)) {}
  explicit Input(const std::vector<T>& values) : buffer(values), wide(values.begin(), values.end()) {}

  operator T*() { return buffer; }

  Buffer<B, T> buffer;
  std::vector<double> wide;
};

/// What a kernel in T may differ from the oracle in double, as a tolerance of check_close.
template <class T>
inline constexpr double kernel_tolerance = std::is_same_v<T, double>  ? 1e-11
                                           : std::is_same_v<T, float> ? 2e-5
                                                                      : 1e-2;

/// A gradient that a kernel writes, the numbers it must have, and which of the kernel's `add` arguments it follows.
struct Gradient {
  std::string name;
  std::vector<double> expected;
  std::size_t flag = 0;
};

/// Where a kernel writes a gradient: in T or, as those of parameters, in compute_t<T>, whichever pointer it asks for.
template <class B, class T>
class GradientOutput {
 public:
  /// Begins with these numbers, or as NaN.
  GradientOutput(const std::vector<T>& start, bool add) : narrow_(start), wide_(std::vector<compute_t<T>>(start.begin(), start.end())) {
    if (add) return;
    const std::vector<unsigned char> ones(start.size() * sizeof(compute_t<T>), 0xff);
    B::memory::copy_from_host(static_cast<T*>(narrow_), ones.data(), start.size() * sizeof(T));
    B::memory::copy_from_host(static_cast<compute_t<T>*>(wide_), ones.data(), ones.size());
  }

  template <class X>
  requires(std::is_same_v<X, T> || std::is_same_v<X, compute_t<T>>) operator X*() {
    is_wide_ = !std::is_same_v<X, T>;
    if constexpr (std::is_same_v<X, T>)
      return narrow_;
    else
      return wide_;
  }

  /// A gradient that was written in the wider type is that much closer to the oracle's.
  void check(const std::string& what, const std::vector<double>& expected, double tolerance) const {
    if (is_wide_)
      check_close(what, wide_.host(), expected, tolerance / kernel_tolerance<T> * kernel_tolerance<compute_t<T>>);
    else
      check_close(what, narrow_.host(), expected, tolerance);
  }

 private:
  Buffer<B, T> narrow_;
  Buffer<B, compute_t<T>> wide_;
  bool is_wide_ = false;
};

/// Runs kernel(outputs, adds) with every setting of its `add` arguments. Outputs that are overwritten begin as NaN, those that are
/// added to as numbers, so expected values are the gradients, plus those numbers.
template <class B, class T, class Kernel>
void check_gradients(const std::vector<Gradient>& gradients, double tolerance, Kernel kernel) {
  std::size_t flags = 0;
  for (const Gradient& g : gradients) flags = g.flag + 1 > flags ? g.flag + 1 : flags;
  for (unsigned mask = 0; mask < 1u << flags; ++mask) {
    std::vector<bool> adds;
    for (std::size_t i = 0; i < flags; ++i) adds.push_back((mask >> i & 1u) != 0);
    std::vector<std::vector<T>> starts;
    for (const Gradient& g : gradients) starts.push_back(random_values<T>(static_cast<std::int64_t>(g.expected.size()), 99));
    std::deque<GradientOutput<B, T>> outputs;
    for (std::size_t i = 0; i < gradients.size(); ++i) outputs.emplace_back(starts[i], adds[gradients[i].flag]);
    kernel(outputs, adds);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      std::vector<double> expected = gradients[i].expected;
      for (std::size_t j = 0; adds[gradients[i].flag] && j < expected.size(); ++j) expected[j] += static_cast<double>(starts[i][j]);
      outputs[i].check(gradients[i].name + (adds[gradients[i].flag] ? ", added" : ", overwritten"), expected, tolerance);
    }
  }
}

}  // namespace llm_test
