// Elementwise kernels, sums and activations over blocks of elements.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/rng.hpp>

namespace llm::cpu {

/// Elements of one block of work.
inline constexpr std::int64_t elements_per_block = 1 << 14;

/// f(kernels, first, count) for each block of n elements; `work` is the cost of one element.
template <class T, class F>
void for_elements(std::int64_t n, std::int64_t work, const F& f) {
  parallel_blocks(n, elements_per_block, work,
                  [&](std::int64_t begin, std::int64_t end) { with_kernels<T>([&](auto kernels) { f(kernels, begin, end - begin); }); });
}

template <class T>
void fill(T* y, std::int64_t n, double value) {
  parallel_blocks(n, elements_per_block, 1, [&](std::int64_t begin, std::int64_t end) {
    if (value == 0 && !std::signbit(value))
      std::memset(static_cast<void*>(y + begin), 0, static_cast<std::size_t>(end - begin) * sizeof(T));
    else
      reference::fill(y + begin, end - begin, value);
  });
}

template <class T>
void fill_normal(T* y, std::int64_t n, std::uint64_t seed, std::uint64_t stream, double stddev) {
  parallel_blocks(n, elements_per_block, 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = T(stddev * normal_at(seed, stream, static_cast<std::uint64_t>(i)));
  });
}

template <class T>
void copy(T* y, const T* x, std::int64_t n) {
  parallel_blocks(n, elements_per_block, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<void*>(y + begin), x + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  });
}

/// y[i] = To(x[i]) on the calling thread.
template <class To, class From>
void convert_some(To* y, const From* x, std::int64_t n) {
  if constexpr (std::is_same_v<To, From>)
    std::memcpy(static_cast<void*>(y), x, static_cast<std::size_t>(n) * sizeof(To));
  else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, bf16>)
    with_vectors([&](auto kernels) { kernels.template narrow<To>(x, 1.0f, y, n, false); });
  else if constexpr ((std::is_same_v<From, bf16> || std::is_same_v<From, f16>)&&std::is_same_v<To, float>)
    with_vectors([&](auto kernels) { kernels.template widen<From>(x, y, n); });
  else
    reference::convert(y, x, n);
}

template <class To, class From>
void convert(To* y, const From* x, std::int64_t n) {
  parallel_blocks(n, elements_per_block, 1, [&](std::int64_t begin, std::int64_t end) { convert_some(y + begin, x + begin, end - begin); });
}

template <class T>
void add(const T* a, const T* b, T* y, std::int64_t n) {
  for_elements<T>(n, 1, [&](auto kernels, std::int64_t i, std::int64_t count) { kernels.template add<T>(a + i, b + i, y + i, count); });
}

template <class T, class X>
void accumulate(T* y, const X* x, std::int64_t n) {
  for_elements<T>(n, 1, [&](auto kernels, std::int64_t i, std::int64_t count) { kernels.template accumulate<T, X>(y + i, x + i, count); });
}

template <class T>
void scale(T* y, std::int64_t n, double factor) {
  for_elements<T>(n, 1, [&](auto kernels, std::int64_t i, std::int64_t count) { kernels.template scale<T>(y + i, count, factor); });
}

template <class T>
double sum(const T* x, std::int64_t n) {
  double* sums = workspace<double>(Slot::shared, n / elements_per_block + 1);
  for_elements<T>(n, 1, [&](auto kernels, std::int64_t i, std::int64_t count) {
    sums[i / elements_per_block] = kernels.template sum<T>(x + i, count);
  });
  return reference::sum(sums, ceil_div(n, elements_per_block));  // in the order of the blocks
}

template <class T>
void activation_forward(Activation kind, const T* x, T* y, std::int64_t n) {
  for_elements<T>(
      n, 8, [&](auto kernels, std::int64_t i, std::int64_t count) { kernels.template activation_forward<T>(kind, x + i, y + i, count); });
}

template <class T>
void activation_backward(Activation kind, const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
  for_elements<T>(n, 8, [&](auto kernels, std::int64_t i, std::int64_t count) {
    kernels.template activation_backward<T>(kind, dy + i, x + i, dx + i, y == nullptr ? nullptr : y + i, count, add);
  });
}

template <class T>
void gated_forward(Activation kind, const T* gate, const T* up, T* y, std::int64_t n) {
  for_elements<T>(n, 8, [&](auto kernels, std::int64_t i, std::int64_t count) {
    kernels.template gated_forward<T>(kind, gate + i, up + i, y + i, count);
  });
}

template <class T>
void gated_backward(Activation kind, const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n, bool add_dgate,
                    bool add_dup) {
  for_elements<T>(n, 8, [&](auto kernels, std::int64_t i, std::int64_t count) {
    kernels.template gated_backward<T>(kind, dy + i, gate + i, up + i, dgate + i, dup + i, y == nullptr ? nullptr : y + i, count, add_dgate,
                                       add_dup);
  });
}

}  // namespace llm::cpu
