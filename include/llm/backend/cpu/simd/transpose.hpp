// A square of vectors transposed in registers: within groups of four lanes by unpacking, then group by group.
#if defined(LLM_SIMD_WIDTH) && LLM_SIMD_WIDTH > 1

/// The lower (or upper) half of each group of a and b, element by element in turn; then the same with pairs of elements.
template <int Upper, std::size_t... I>
LLM_SIMD vf interleave(vf a, vf b, std::index_sequence<I...>) {
  return __builtin_shufflevector(
      a, b, (static_cast<int>(I) / 4 * 4 + static_cast<int>(I) % 4 / 2 + 2 * Upper + (static_cast<int>(I) % 2 ? width : 0))...);
}
template <int Upper, std::size_t... I>
LLM_SIMD vf interleave_pairs(vf a, vf b, std::index_sequence<I...>) {
  return __builtin_shufflevector(
      a, b, (static_cast<int>(I) / 4 * 4 + static_cast<int>(I) % 2 + 2 * Upper + (static_cast<int>(I) % 4 >= 2 ? width : 0))...);
}
/// Every other group of a, then of b, beginning with the first or the second.
template <int Second, std::size_t... I>
LLM_SIMD vf every_other_group(vf a, vf b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (static_cast<int>(I) / 4 * 8 + 4 * Second + static_cast<int>(I) % 4)...);
}

template <int First>
LLM_SIMD void transpose_groups(vf (&rows)[width]) {
  constexpr auto lanes = std::make_index_sequence<width>{};
  vf* const r = rows + First;
  const vf a = interleave<0>(r[0], r[1], lanes), b = interleave<1>(r[0], r[1], lanes);
  const vf c = interleave<0>(r[2], r[3], lanes), d = interleave<1>(r[2], r[3], lanes);
  r[0] = interleave_pairs<0>(a, c, lanes);
  r[1] = interleave_pairs<1>(a, c, lanes);
  r[2] = interleave_pairs<0>(b, d, lanes);
  r[3] = interleave_pairs<1>(b, d, lanes);
}
/// Rows I, I + 4, ... hold groups of four rows; afterwards each holds one group of all rows.
template <int I>
LLM_SIMD void gather_groups([[maybe_unused]] vf (&rows)[width]) {
  [[maybe_unused]] constexpr auto lanes = std::make_index_sequence<width>{};
  if constexpr (width == 8) {
    const vf a = rows[I], b = rows[I + 4];
    rows[I] = every_other_group<0>(a, b, lanes);
    rows[I + 4] = every_other_group<1>(a, b, lanes);
  } else if constexpr (width == 16) {
    const vf a = every_other_group<0>(rows[I], rows[I + 4], lanes), b = every_other_group<1>(rows[I], rows[I + 4], lanes);
    const vf c = every_other_group<0>(rows[I + 8], rows[I + 12], lanes), d = every_other_group<1>(rows[I + 8], rows[I + 12], lanes);
    rows[I] = every_other_group<0>(a, c, lanes);
    rows[I + 4] = every_other_group<0>(b, d, lanes);
    rows[I + 8] = every_other_group<1>(a, c, lanes);
    rows[I + 12] = every_other_group<1>(b, d, lanes);
  }
}

LLM_SIMD void transpose(vf (&rows)[width]) {
  static_assert(width == 4 || width == 8 || width == 16);
  transpose_groups<0>(rows);
  if constexpr (width > 4) transpose_groups<4>(rows);
  if constexpr (width > 8) transpose_groups<8>(rows), transpose_groups<12>(rows);
  gather_groups<0>(rows), gather_groups<1>(rows), gather_groups<2>(rows), gather_groups<3>(rows);
}

#elif defined(LLM_SIMD_WIDTH)

LLM_SIMD void transpose(vf (&)[1]) {}

#endif
