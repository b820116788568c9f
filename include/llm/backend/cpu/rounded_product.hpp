// Products with weights in block formats, whose activations are rounded to bytes in blocks of 32.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/dispatch.hpp>
#include <llm/backend/cpu/packed.hpp>
#include <llm/backend/cpu/parallel.hpp>
#include <llm/backend/cpu/rounded_rows.hpp>
#include <llm/backend/cpu/tile.hpp>
#include <llm/backend/cpu/workspace.hpp>

namespace llm::cpu {

/// The kernels for a block format, for activations of type T.
template <class T>
const RoundedKernels& rounded_kernels_for(DType format) {
  const RoundedKernels* found = nullptr;
  with_rounded_products(
      [&](auto kernels) { detail::with_codes(format, [&](auto codes) { found = &rounded_kernels<decltype(kernels), decltype(codes)>; }); });
  return *found;
}

/// M rows of x rounded as the kernels of a format want it.
template <class T>
RoundedRows rounded_rows(const RoundedKernels& kernels, const T* x, std::int64_t M, std::int64_t K) {
  void* const memory = workspace<std::byte>(Slot::shared, RoundedRows::bytes(M, K, kernels.group));
  const RoundedRows rows = RoundedRows::in(memory, M, K, kernels.group);
  parallel_for(M, K / 8, [&](std::int64_t m) {
    const Matrix<float> wide = widened(dense(x + m * K, K), 1, K, Slot::rows);
    kernels.round_row(wide.data, kernels.zero, rows.from(m));
  });
  return rows;
}

/// One product of rounded rows with packed weights, in pieces that can be done in any order.
template <class T>
class RoundedTask {
 public:
  RoundedTask() = default;
  RoundedTask(const RoundedKernels& kernels, const RoundedRows& x, std::int64_t M, const StoredProduct<T>& product)
      : kernels_(&kernels),
        x_(x),
        w_(static_cast<const Byte*>(product.w)),
        bias_(product.bias),
        y_(product.y),
        M_(M),
        N_(product.N),
        panels_(ceil_div(N_, panel_rows)),
        panel_bytes_(kernels.panel_bytes(x.K)),
        singly_(M <= kernels.single_rows),
        parts_(singly_ ? panels_ : ceil_div(panels_, kernels.panels)) {}

  std::int64_t pieces() const { return parts_ * ceil_div(M_, most_rows); }
  /// Of one piece. For one row of activations it is that of reading the weights.
  std::int64_t work() const {
    constexpr std::int64_t bytes_per_work = 10;
    return singly_ ? M_ * panel_bytes_ / bytes_per_work : kernels_->panels * x_.K * (1 + (std::min)(M_, most_rows) / 6);
  }
  void run(std::int64_t piece) const {
    if (singly_) return some_rows(piece);
    const std::int64_t m = piece / parts_ * most_rows;
    many_rows(piece % parts_ * kernels_->panels, m, (std::min)(most_rows, M_ - m));
  }

 private:
  static constexpr std::int64_t most_rows = 512;

  /// Each row by itself: the panel comes from memory for the first alone.
  void some_rows(std::int64_t panel) const {
    const Byte *const weights = w_ + panel * panel_bytes_, *const end = w_ + panels_ * panel_bytes_;
    reads_weights(weights, end);
    float sums[panel_rows];
    for (std::int64_t m = 0; m < M_; ++m) {
      kernels_->row_by_panel(x_.from(m), weights, end, sums);
      write(sums, m, panel * panel_rows, panel_rows);
    }
  }

  /// Rows [first_row, first_row + rows) by as many panels as the kernels take; those that do not exist repeat the last one.
  void many_rows(std::int64_t first_panel, std::int64_t first_row, std::int64_t rows) const {
    constexpr std::int64_t tile_rows = 48;
    const ExpandedPanels panels = expanded(first_panel);
    const std::int64_t cols = kernels_->panels * panel_rows;
    float* sums = workspace<float>(Slot::tile, tile_rows * cols);
    for (std::int64_t m = first_row; m < first_row + rows; m += tile_rows) {
      const std::int64_t some = (std::min)(tile_rows, first_row + rows - m);
      kernels_->rows_by_codes(some, x_.from(m), panels, sums);
      for (std::int64_t i = 0; i < some; ++i) write(sums + i * cols, m + i, first_panel * panel_rows, cols);
    }
  }
  ExpandedPanels expanded(std::int64_t first_panel) const {
    const std::int64_t count = kernels_->panels;
    ExpandedPanels all{x_.K, kernels_->group, nullptr, nullptr, nullptr};
    all.codes = workspace<Byte>(Slot::packed_right, count * all.codes_apart());
    all.scales = workspace<float>(Slot::packed_left, 2 * count * all.scales_apart());
    all.offsets = all.scales + count * all.scales_apart();
    for (std::int64_t i = 0; i < count; ++i) kernels_->expand(w_ + (std::min)(first_panel + i, panels_ - 1) * panel_bytes_, all.from(i));
    return all;
  }

  void write(const float* sums, std::int64_t m, std::int64_t n, std::int64_t count) const {
    const std::int64_t wanted = (std::min)(count, N_ - n);
    T* const to = y_ + m * N_ + n;
    if (bias_ == nullptr)
      for (std::int64_t j = 0; j < wanted; ++j) to[j] = T(sums[j]);
    else
      for (std::int64_t j = 0; j < wanted; ++j) to[j] = T(sums[j] + static_cast<float>(bias_[n + j]));
  }

  const RoundedKernels* kernels_ = nullptr;
  RoundedRows x_{};
  const Byte* w_ = nullptr;
  const T* bias_ = nullptr;
  T* y_ = nullptr;
  std::int64_t M_ = 0, N_ = 0, panels_ = 0, panel_bytes_ = 0;
  bool singly_ = false;
  std::int64_t parts_ = 0;
};

/// Products of the same rows with weights in block formats. As many at a time as want the rows rounded alike share that, and one loop.
template <class T>
void rounded_products(const T* x, const StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
  constexpr std::int64_t most = 16;
  for (std::int64_t begin = 0, end = 0; M > 0 && begin < count; begin = end) {
    const RoundedKernels& kernels = rounded_kernels_for<T>(products[begin].format);
    const RoundedRows rows = rounded_rows(kernels, x, M, K);
    RoundedTask<T> tasks[most];
    std::int64_t ends[most] = {}, pieces = 0, work = 0;
    for (; end < count && end - begin < most; ++end) {
      const RoundedKernels& next = rounded_kernels_for<T>(products[end].format);
      if (next.round_row != kernels.round_row || next.zero != kernels.zero) break;
      RoundedTask<T>& task = tasks[end - begin] = RoundedTask<T>(next, rows, M, products[end]);
      work += task.pieces() * task.work();
      ends[end - begin] = pieces += task.pieces();
    }
    parallel_for(pieces, work / (std::max)(pieces, std::int64_t{1}), [&](std::int64_t piece) {
      int i = 0;
      while (piece >= ends[i]) ++i;
      tasks[i].run(piece - (i == 0 ? 0 : ends[i - 1]));
    });
  }
}

// 1 for activations in f32, 0 for rounded ones, -1 before either was said.
LLM_SHARED inline std::atomic<int> chosen_f32_activations{-1};

/// What the environment variable LLM_ACTIVATIONS says: f32, or int8, which is the default. Throws ValueError when it is neither.
inline bool detect_f32_activations() {
  const char* const said = std::getenv("LLM_ACTIVATIONS");
  const std::string_view wanted = said == nullptr ? "" : said;
  if (!wanted.empty() && wanted != "f32" && wanted != "int8")
    throw ValueError(detail::concat("llm: LLM_ACTIVATIONS=", wanted, " is neither f32 nor int8"));
  return wanted == "f32";
}

}  // namespace llm::cpu

namespace llm {

/// Whether products with weights in block formats leave their activations as they are; see set_f32_activations.
inline bool f32_activations() {
  int chosen = cpu::chosen_f32_activations.load(std::memory_order_relaxed);
  if (chosen < 0) {
    chosen = cpu::detect_f32_activations() ? 1 : 0;
    cpu::chosen_f32_activations.store(chosen, std::memory_order_relaxed);
  }
  return chosen == 1;
}

/// The CPU backend rounds the activations of products with weights in block formats (q8_0, q4_k, ...) to bytes, a scale for every 32 of
/// them, as its fastest kernels need. With `exact` it multiplies them as they are by decoded weights: slower, and as close to the file's
/// numbers as f32 is. Holds for all threads from now on; the environment variable LLM_ACTIVATIONS (f32 or int8) says what holds before.
inline void set_f32_activations(bool exact) { cpu::chosen_f32_activations.store(exact ? 1 : 0, std::memory_order_relaxed); }

}  // namespace llm
