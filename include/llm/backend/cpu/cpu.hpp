// The CPU backend: threads, vector instructions chosen at run time, and Eigen.
#pragma once

#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/product.hpp>
#include <llm/backend/reference/reference.hpp>

namespace llm {

/// Runs models on the cores of this machine. Kernels that are not named here are the reference's plain loops.
struct Cpu : Reference {
  static constexpr const char* name = "cpu";

  template <class T>
  static void linear_forward(const T* x, const T* w, const T* bias, T* y, std::int64_t M, std::int64_t N, std::int64_t K) {
    cpu::product<T>(M, N, K, cpu::dense(x, K), cpu::dense(w, K).transposed(), {y, N, bias, false});
  }
  template <class T>
  static void linear_backward_input(const T* dy, const T* w, T* dx, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
    cpu::product<T>(M, K, N, cpu::dense(dy, N), cpu::dense(w, K), {dx, K, nullptr, add});
  }
  template <class T>
  static void linear_backward_weight(const T* dy, const T* x, T* dw, std::int64_t M, std::int64_t N, std::int64_t K, bool add) {
    cpu::product<T>(N, K, M, cpu::dense(dy, N).transposed(), cpu::dense(x, K), {dw, K, nullptr, add});
  }
};

static_assert(backend_for<Cpu, float> && backend_for<Cpu, double> && backend_for<Cpu, bf16>);

}  // namespace llm
