// Activations as bytes in blocks of 32, for products with weights in block formats.
#pragma once

#include <cstdint>

#include <llm/backend/cpu/packed.hpp>

namespace llm::cpu {

/// M rows of K activations, of which value k of row m is scale[m, k / 32] * code[m, k] but for rounding: scale = the largest magnitude of
/// the 32 / 127, in f32, code = the value / scale, rounded to nearest even. The scale is NaN when one of the values is not finite, and 0
/// when all are below 1e-36. What the products of a group of columns begin with depends on the weights' format: for codes that count from
/// `zero` start[m, group] = -zero * the sum of the group's codes, as an integer; for those with an offset scale * that sum, as a float.
struct RoundedRows {
  std::int64_t K, group;
  std::int8_t* code;    // [M, K]
  float* scale;         // [M, K / 32]
  std::int32_t* start;  // [M, K / group]

  static std::int64_t bytes(std::int64_t M, std::int64_t K, std::int64_t group) { return M * (K + K / 32 * 4 + K / group * 4); }
  static RoundedRows in(void* memory, std::int64_t M, std::int64_t K, std::int64_t group) {
    auto* code = static_cast<std::int8_t*>(memory);
    auto* scale = reinterpret_cast<float*>(code + M * K);  // K is a multiple of 32
    return {K, group, code, scale, reinterpret_cast<std::int32_t*>(scale + M * (K / 32))};
  }
  RoundedRows from(std::int64_t m) const { return {K, group, code + m * K, scale + m * (K / 32), start + m * (K / group)}; }
};

/// Panels of packed weights with one code a byte: the code of column k of row r of panel p stands at codes[(p * K / 4 + k / 4) * 64 + 4 * r
/// + k % 4], the scale and offset of a group g of columns at [(p * K / group + g) * 16 + r].
struct ExpandedPanels {
  std::int64_t K, group;
  detail::Byte* codes;
  float *scales, *offsets;

  std::int64_t codes_apart() const { return K * panel_rows; }
  std::int64_t scales_apart() const { return K / group * panel_rows; }
  ExpandedPanels from(std::int64_t p) const {
    return {K, group, codes + p * codes_apart(), scales + p * scales_apart(), offsets + p * scales_apart()};
  }
};

/// All that products of rounded activations with expanded panels need to know of a format. Formats that agree in it share their kernels.
template <int Group, bool HasOffset, bool AllBits>
struct CodeKind {
  static constexpr int group = Group, bits = AllBits ? 8 : 7;
  static constexpr bool has_offset = HasOffset;
  static constexpr int zero = HasOffset ? 0 : 1;  // codes of formats without an offset count from somewhere
};
template <class Codes>
using KindOf = CodeKind<Codes::group, Codes::has_offset, Codes::bits == 8>;

/// The kernels of one instruction set for one format; see simd/rounded_product.hpp.
struct RoundedKernels {
  int group, zero, panels;
  int single_rows;  // up to so many rows are faster one after the other, by packed panels, than by expanded ones
  std::int64_t (*panel_bytes)(std::int64_t K);
  void (*round_row)(const float* x, int zero, RoundedRows to);
  void (*row_by_panel)(const RoundedRows& x, const detail::Byte* panel, const detail::Byte* end, float* y);
  void (*expand)(const detail::Byte* panel, const ExpandedPanels& to);
  void (*rows_by_codes)(std::int64_t M, const RoundedRows& x, const ExpandedPanels& w, float* y);
};
template <class Kernels, class Codes>
inline constexpr RoundedKernels rounded_kernels = {Codes::group,
                                                   Kernels::template zero<Codes>,
                                                   Kernels::panels,
                                                   Kernels::single_rows,
                                                   Packed<Codes>::panel_bytes,
                                                   Kernels::template round_row<KindOf<Codes>>,
                                                   Kernels::template row_by_panel<Codes>,
                                                   Kernels::template expand<Codes>,
                                                   Kernels::template rows_by_codes<KindOf<Codes>>};

}  // namespace llm::cpu
