// What the kernel tests of all backends share: the list of backends, buffers in a backend's memory, and checking gradients.
// A test program of a further backend defines LLM_KERNEL_TEST_BACKENDS and LLM_KERNEL_TEST_BACKENDS_BF16
// (lists of On<Backend, scalar>) and includes the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
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
#define LLM_KERNEL_TEST_BACKENDS On<llm::Reference, float>, On<llm::Reference, double>, On<llm::Cpu, float>, On<llm::Cpu, double>
#define LLM_KERNEL_TEST_BACKENDS_BF16 On<llm::Reference, llm::bf16>, On<llm::Cpu, llm::bf16>
#endif

namespace llm_test {

/// One column of the kernel tests: a backend and an element type.
template <class B, class T>
struct On {
  using Backend = B;
  using Scalar = T;
};

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
    std::vector<std::unique_ptr<Buffer<B, T>>> buffers;
    std::vector<T*> outputs;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      buffers.push_back(adds[gradients[i].flag] ? std::make_unique<Buffer<B, T>>(starts[i])
                                                : std::make_unique<Buffer<B, T>>(static_cast<std::int64_t>(starts[i].size())));
      outputs.push_back(*buffers.back());
    }
    kernel(outputs, adds);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      std::vector<double> expected = gradients[i].expected;
      for (std::size_t j = 0; adds[gradients[i].flag] && j < expected.size(); ++j) expected[j] += static_cast<double>(starts[i][j]);
      check_close(gradients[i].name + (adds[gradients[i].flag] ? ", added" : ", overwritten"), buffers[i]->host(), expected, tolerance);
    }
  }
}

}  // namespace llm_test
