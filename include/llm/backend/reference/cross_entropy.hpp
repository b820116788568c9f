// Cross-entropy of rows of logits against one target each, and the gradient of the logits. Index is int32_t or int64_t.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/reference/softmax.hpp>
#include <llm/core/dtype.hpp>

namespace llm::reference {

/// How many of n targets are not `ignore`; when one is neither that nor in [0, V), -1 - (the position of the first such).
template <class Index>
std::int64_t count_targets(const Index* targets, std::int64_t n, std::int64_t V, std::int64_t ignore) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (targets[i] == ignore) continue;
    if (targets[i] < 0 || targets[i] >= V) return -1 - i;
    ++count;
  }
  return count;
}

/// losses[r] = lse[r] - logits[r, targets[r]], 0 where targets[r] == ignore; lse[r] = log sum exp of row r of logits [rows, V].
template <class T, class Index>
void cross_entropy_forward(const T* logits, const Index* targets, compute_t<T>* losses, compute_t<T>* lse, std::int64_t rows,
                           std::int64_t V, std::int64_t ignore) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    lse[r] = log_sum_exp(logits + r * V, V);
    losses[r] = targets[r] == ignore ? C(0) : lse[r] - C(logits[r * V + targets[r]]);
  }
}

/// dlogits = (exp(logits - lse) - one_hot(target)) * scale, 0 in ignored rows; dlogits [rows, V] may be the logits. Overwrites.
template <class T, class Index>
void cross_entropy_backward(const T* logits, const Index* targets, const compute_t<T>* lse, double scale, T* dlogits, std::int64_t rows,
                            std::int64_t V, std::int64_t ignore) {
  using C = compute_t<T>;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t v = 0; v < V; ++v) {
      const C probability = std::exp(C(logits[r * V + v]) - lse[r]);
      const C gradient = (v == targets[r] ? probability - C(1) : probability) * C(scale);
      dlogits[r * V + v] = T(targets[r] == ignore ? C(0) : gradient);
    }
}

}  // namespace llm::reference
