// Learning-rate schedule: linear warm-up, then cosine decay.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/core/error.hpp>

namespace llm {

/// lr(s) for steps s = 0, 1, ...: max_lr (s + 1) / warmup while s < warmup, then half a cosine from max_lr down to min_lr at s = steps,
/// min_lr afterwards. Throws ValueError for negative numbers or min_lr above max_lr.
struct WarmupCosine {
  double max_lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup = 100;
  std::int64_t steps = 300;

  double operator()(std::int64_t step) const {
    if (!(max_lr >= min_lr && min_lr >= 0.0) || warmup < 0 || steps < 0 || step < 0)
      throw ValueError(detail::concat("llm::WarmupCosine: max_lr ", max_lr, " >= min_lr ", min_lr, " >= 0, warmup ", warmup, ", steps ",
                                      steps, " and step ", step, " >= 0 are required"));
    if (step < warmup) return max_lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (step >= steps) return min_lr;
    const double progress = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
    return min_lr + 0.5 * (max_lr - min_lr) * (1.0 + std::cos(3.141592653589793 * progress));
  }
};

}  // namespace llm
