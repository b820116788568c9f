// RMSNorm over rows: y = x / sqrt(mean(x^2) + eps) * gain. Source: arXiv:1910.07467.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// x, y [rows, cols], gain [cols]; inv_rms [rows] may be null. `rounding` matters where T is narrower than its compute type.
template <class T>
void rms_norm_forward(const T* x, const T* gain, T* y, compute_t<T>* inv_rms, std::int64_t rows, std::int64_t cols, double eps,
                      Rounding rounding) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * cols;
    C squares = 0;
    for (std::int64_t c = 0; c < cols; ++c) squares += C(row[c]) * C(row[c]);
    const C inverse = C(1) / std::sqrt(squares / C(cols) + C(eps));
    for (std::int64_t c = 0; c < cols; ++c) {
      const C n = C(row[c]) * inverse;
      y[r * cols + c] = rounding == Rounding::round_then_gain ? T(C(T(n)) * C(gain[c])) : T(n * C(gain[c]));
    }
    if (inv_rms != nullptr) inv_rms[r] = inverse;
  }
}

/// dx [rows, cols] and dgain [cols] from dy; inv_rms [rows] is what forward saved. With n = x * inv_rms and g = dy * gain:
/// dx = inv_rms (g - n mean(g n)), dgain = sum over rows of dy n.
template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* gain, const compute_t<T>* inv_rms, T* dx, compute_t<T>* dgain, std::int64_t rows,
                       std::int64_t cols, bool add_dx, bool add_dgain) {
  using C = compute_t<T>;
  for (std::int64_t c = 0; c < cols; ++c) {
    C total = 0;
    for (std::int64_t r = 0; r < rows; ++r) total += C(dy[r * cols + c]) * C(x[r * cols + c]) * inv_rms[r];
    store(dgain[c], total, add_dgain);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * cols;
    C mean = 0;
    for (std::int64_t c = 0; c < cols; ++c) mean += C(dy[row + c]) * C(gain[c]) * C(x[row + c]) * inv_rms[r] / C(cols);
    for (std::int64_t c = 0; c < cols; ++c)
      store(dx[row + c], inv_rms[r] * (C(dy[row + c]) * C(gain[c]) - C(x[row + c]) * inv_rms[r] * mean), add_dx);
  }
}

}  // namespace llm::reference
