// Softmax, cross-entropy and norms over blocks of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/core/dtype.hpp>

namespace llm::cpu {

/// f(kernels, first row, rows) for each block of rows; `work` is the cost of one element.
template <class T, class F>
void for_rows(std::int64_t rows, std::int64_t cols, std::int64_t work, const F& f) {
  parallel_blocks(rows, rows_per_block(cols), cols * work,
                  [&](std::int64_t begin, std::int64_t end) { with_kernels<T>([&](auto kernels) { f(kernels, begin, end - begin); }); });
}

template <class T>
void softmax_forward(const T* x, T* y, std::int64_t rows, std::int64_t cols) {
  for_rows<T>(rows, cols, 8, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template softmax_forward<T>(x + r * cols, y + r * cols, count, cols);
  });
}

template <class T>
void softmax_backward(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t cols, bool add) {
  for_rows<T>(rows, cols, 2, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template softmax_backward<T>(dy + r * cols, y + r * cols, dx + r * cols, count, cols, add);
  });
}

template <class T, class Index>
void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse, std::int64_t rows,
                           std::int64_t V, std::int64_t ignore) {
  for_rows<T>(rows, V, 8, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template cross_entropy_forward<T>(logits + r * V, targets + r, losses + r, lse + r, count, V, ignore);
  });
}

template <class T, class Index>
void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double factor, T* dlogits, std::int64_t rows,
                            std::int64_t V, std::int64_t ignore) {
  for_rows<T>(rows, V, 8, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template cross_entropy_backward<T>(logits + r * V, targets + r, lse + r, factor, dlogits + r * V, count, V, ignore);
  });
}

template <class T>
void rms_norm_forward(const T* x, const T* gain, T* y, compute_t<T>* inv_rms, std::int64_t rows, std::int64_t cols, double eps,
                      Rounding rounding) {
  for_rows<T>(rows, cols, 2, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template rms_norm_forward<T>(x + r * cols, gain, y + r * cols, inv_rms == nullptr ? nullptr : inv_rms + r, count, cols, eps,
                                         rounding);
  });
}

template <class T>
void layer_norm_forward(const T* x, const T* gain, const T* bias, T* y, compute_t<T>* mean, compute_t<T>* inv_std, std::int64_t rows,
                        std::int64_t cols, double eps) {
  for_rows<T>(rows, cols, 2, [&](auto kernels, std::int64_t r, std::int64_t count) {
    kernels.template layer_norm_forward<T>(x + r * cols, gain, bias, y + r * cols, mean == nullptr ? nullptr : mean + r,
                                           inv_std == nullptr ? nullptr : inv_std + r, count, cols, eps);
  });
}

/// y[cols] = the sum of the rows of x.
template <class T, class Y>
void column_sums(const T* x, std::int64_t rows, std::int64_t cols, Y* y, bool add) {
  constexpr std::int64_t some_cols = 64;
  parallel_blocks(cols, some_cols, rows, [&](std::int64_t begin, std::int64_t end) {
    with_vectors([&](auto kernels) { kernels.template column_sums<T, Y>(x + begin, cols, rows, end - begin, y + begin, add); });
  });
}

/// Rows whose share of a parameter's gradient is summed on its own: at most 64 shares, cut by the shape alone. Each costs the thread that
/// adds them up a read of what another one wrote, so that a share of few elements does not pay.
inline std::int64_t rows_per_share(std::int64_t rows, std::int64_t cols) {
  return (std::max)({std::int64_t{16}, rows_per_block(cols), ceil_div(rows, 64)});
}

/// Zeroes a [shares, sums * cols] buffer, calls f(kernels, first row, rows, share) for each share of the rows, and returns the buffer.
template <class F>
const float* gradient_shares(std::int64_t rows, std::int64_t cols, std::int64_t sums, const F& f) {
  const std::int64_t each = rows_per_share(rows, cols), width = sums * cols;
  float* shares = workspace<float>(Slot::shared, ceil_div(rows, each) * width);
  parallel_blocks(rows, each, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    float* share = shares + begin / each * width;
    std::fill(share, share + width, 0.0f);
    with_vectors([&](auto kernels) { f(kernels, begin, end - begin, share); });
  });
  return shares;
}

inline std::int64_t share_count(std::int64_t rows, std::int64_t cols) { return ceil_div(rows, rows_per_share(rows, cols)); }

template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* inv_rms, T* dx, compute_t<T>* dgain, std::int64_t rows,
                       std::int64_t cols, bool add_dx, bool add_dgain) {
  if constexpr (std::is_same_v<T, double>) {
    reference::rms_norm_backward(dy, x, gain, inv_rms, dx, dgain, rows, cols, add_dx, add_dgain);
  } else {
    const float* shares = gradient_shares(rows, cols, 1, [&](auto kernels, std::int64_t r, std::int64_t count, float* share) {
      kernels.template rms_norm_backward<T>(dy + r * cols, x + r * cols, gain, inv_rms + r, dx + r * cols, share, count, cols, add_dx);
    });
    column_sums(shares, share_count(rows, cols), cols, dgain, add_dgain);
  }
}

template <class T>
void layer_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* mean, const compute_t<T>* inv_std, T* dx,
                         compute_t<T>* dgain, compute_t<T>* dbias, std::int64_t rows, std::int64_t cols, bool add_dx, bool add_parameters) {
  if constexpr (std::is_same_v<T, double>) {
    reference::layer_norm_backward(dy, x, gain, mean, inv_std, dx, dgain, dbias, rows, cols, add_dx, add_parameters);
  } else {
    const float* shares = gradient_shares(rows, cols, 2, [&](auto kernels, std::int64_t r, std::int64_t count, float* share) {
      kernels.template layer_norm_backward<T>(dy + r * cols, x + r * cols, gain, mean + r, inv_std + r, dx + r * cols, share, share + cols,
                                              count, cols, add_dx);
    });
    with_vectors([&](auto kernels) {
      kernels.template column_sums<float, float>(shares, 2 * cols, share_count(rows, cols), cols, dgain, add_parameters);
      kernels.template column_sums<float, float>(shares + cols, 2 * cols, share_count(rows, cols), cols, dbias, add_parameters);
    });
  }
}

}  // namespace llm::cpu
