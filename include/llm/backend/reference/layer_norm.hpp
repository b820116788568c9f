// LayerNorm over rows: y = (x - mean) / sqrt(variance + eps) * gain + bias. Source: arXiv:1607.06450.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// x, y [rows, cols], gain, bias [cols]; mean and inv_std [rows] may be null. The variance is the biased one (divided by cols).
template <class T>
void layer_norm_forward(const T* x, const T* gain, const T* bias, T* y, compute_t<T>* mean, compute_t<T>* inv_std, std::int64_t rows,
                        std::int64_t cols, double eps) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * cols;
    C average = 0;
    for (std::int64_t c = 0; c < cols; ++c) average += C(row[c]);
    average /= C(cols);
    C squares = 0;
    for (std::int64_t c = 0; c < cols; ++c) squares += (C(row[c]) - average) * (C(row[c]) - average);
    const C inverse = C(1) / std::sqrt(squares / C(cols) + C(eps));
    for (std::int64_t c = 0; c < cols; ++c) y[r * cols + c] = T((C(row[c]) - average) * inverse * C(gain[c]) + C(bias[c]));
    if (mean != nullptr) mean[r] = average;
    if (inv_std != nullptr) inv_std[r] = inverse;
  }
}

/// dx [rows, cols], dgain and dbias [cols] from dy; mean and inv_std [rows] are what forward saved. With n = (x - mean) inv_std and
/// g = dy * gain: dx = inv_std (g - mean(g) - n mean(g n)), dgain = sum over rows of dy n, dbias = sum over rows of dy.
template <class T>
void layer_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* mean, const compute_t<T>* inv_std, T* dx,
                         compute_t<T>* dgain, compute_t<T>* dbias, std::int64_t rows, std::int64_t cols, bool add_dx, bool add_parameters) {
  using C = compute_t<T>;
  const auto normalised = [&](std::int64_t r, std::int64_t c) { return (C(x[r * cols + c]) - mean[r]) * inv_std[r]; };
  for (std::int64_t c = 0; c < cols; ++c) {
    C gain_total = 0, bias_total = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      gain_total += C(dy[r * cols + c]) * normalised(r, c);
      bias_total += C(dy[r * cols + c]);
    }
    store(dgain[c], gain_total, add_parameters);
    store(dbias[c], bias_total, add_parameters);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto g = [&](std::int64_t c) { return C(dy[r * cols + c]) * C(gain[c]); };
    C mean_g = 0, mean_gn = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      mean_g += g(c) / C(cols);
      mean_gn += g(c) * normalised(r, c) / C(cols);
    }
    for (std::int64_t c = 0; c < cols; ++c) store(dx[r * cols + c], inv_std[r] * (g(c) - mean_g - normalised(r, c) * mean_gn), add_dx);
  }
}

}  // namespace llm::reference
