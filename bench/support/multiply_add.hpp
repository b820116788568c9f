// Loops of multiply-adds between registers: nothing is read from memory, so they run at the peak of a core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/backend/cpu/isa.hpp>

#if LLM_X86
#include <immintrin.h>
#endif

namespace bench {

/// One kind of multiply-add: `loop(rounds)` does `operations` a round (a multiply and an add are two) and returns a number that depends on
/// all of them.
struct MultiplyAdd {
  std::string_view name;
  double operations;
  float (*loop)(std::int64_t rounds);
};

/// Independent accumulators hide an instruction's latency: twelve are too few for bf16's. Of int8's, g++ 12 copies registers from 13 on.
inline constexpr std::size_t accumulators = 16, int8_accumulators = 12;
using Accumulators = std::make_index_sequence<accumulators>;
using Int8Accumulators = std::make_index_sequence<int8_accumulators>;

template <std::size_t... I>
float multiply_add_plain(std::int64_t rounds, std::index_sequence<I...>) {
  float a[] = {static_cast<float>(I)...};
  for (std::int64_t round = 0; round < rounds; ++round) ((a[I] = a[I] * 0.999f + 0.001f), ...);
  return (a[I] + ...);
}

#if LLM_X86

template <std::size_t... I>
[[gnu::target("avx2,fma"), gnu::noinline]] float fma_f32_avx2(std::int64_t rounds, std::index_sequence<I...>) {
  __m256 a[] = {_mm256_set1_ps(static_cast<float>(I))...};
  const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
  for (std::int64_t round = 0; round < rounds; ++round) ((a[I] = _mm256_fmadd_ps(a[I], x, y)), ...);
  float out[8 * sizeof...(I)];
  (_mm256_storeu_ps(out + 8 * I, a[I]), ...);
  return (out[8 * I] + ...);
}

template <std::size_t... I>
[[gnu::target("avx512f"), gnu::noinline]] float fma_f32_avx512(std::int64_t rounds, std::index_sequence<I...>) {
  __m512 a[] = {_mm512_set1_ps(static_cast<float>(I))...};
  const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
  for (std::int64_t round = 0; round < rounds; ++round) ((a[I] = _mm512_fmadd_ps(a[I], x, y)), ...);
  float out[16 * sizeof...(I)];
  (_mm512_storeu_ps(out + 16 * I, a[I]), ...);
  return (out[16 * I] + ...);
}

template <std::size_t... I>
[[gnu::target("avx512f,avx512bf16"), gnu::noinline]] float dot_bf16_avx512(std::int64_t rounds, std::index_sequence<I...>) {
  __m512 a[] = {_mm512_set1_ps(static_cast<float>(I))...};
  const auto x = (__m512bh)_mm512_set1_epi32(0x3f803f80), y = (__m512bh)_mm512_set1_epi32(0x3c003c00);  // 1 and 2^-7, in pairs
  for (std::int64_t round = 0; round < rounds; ++round) ((a[I] = _mm512_dpbf16_ps(a[I], x, y)), ...);
  float out[16 * sizeof...(I)];
  (_mm512_storeu_ps(out + 16 * I, a[I]), ...);
  return (out[16 * I] + ...);
}

template <std::size_t... I>
[[gnu::target("avx512f,avx512vnni"), gnu::noinline]] float dot_int8_avx512(std::int64_t rounds, std::index_sequence<I...>) {
  __m512i a[] = {_mm512_set1_epi32(static_cast<int>(I))...};
  const __m512i x = _mm512_set1_epi32(0x01010101), y = _mm512_set1_epi32(0x02020202);
  for (std::int64_t round = 0; round < rounds; ++round) ((a[I] = _mm512_dpbusd_epi32(a[I], x, y)), ...);
  std::int32_t out[16 * sizeof...(I)];
  (_mm512_storeu_si512(out + 16 * I, a[I]), ...);
  return static_cast<float>((static_cast<std::int64_t>(out[16 * I]) + ...));
}

#endif

/// The kinds that this CPU has, of each number format the fastest last.
inline std::vector<MultiplyAdd> multiply_adds() {
  constexpr double ops = 2.0 * accumulators;
  std::vector<MultiplyAdd> found{{"f32_plain", ops, [](std::int64_t rounds) { return multiply_add_plain(rounds, Accumulators()); }}};
#if LLM_X86
  using llm::cpu::Isa;
  if (llm::cpu::has_isa(Isa::avx2))
    found.push_back({"f32_avx2", 8 * ops, [](std::int64_t rounds) { return fma_f32_avx2(rounds, Accumulators()); }});
  if (!llm::cpu::has_isa(Isa::avx512)) return found;
  found.push_back({"f32_avx512", 16 * ops, [](std::int64_t rounds) { return fma_f32_avx512(rounds, Accumulators()); }});
  if (__builtin_cpu_supports("avx512bf16"))
    found.push_back({"bf16_avx512", 32 * ops, [](std::int64_t rounds) { return dot_bf16_avx512(rounds, Accumulators()); }});
  if (__builtin_cpu_supports("avx512vnni"))
    found.push_back(
        {"int8_avx512", 64 * 2.0 * int8_accumulators, [](std::int64_t rounds) { return dot_int8_avx512(rounds, Int8Accumulators()); }});
#endif
  return found;
}

/// The fastest kind of a number format ("f32", "bf16", "int8"); f32's where the CPU has none of that format. With LLM_ISA=avx2 that of
/// AVX2, so that a ratio tells what the kernels in use leave.
inline MultiplyAdd fastest_multiply_add(std::string_view format) {
  const auto all = multiply_adds();
  const bool wide = llm::cpu::current_isa() != llm::cpu::Isa::avx2;
  for (auto kind = all.rbegin(); kind != all.rend(); ++kind)
    if (kind->name.starts_with(format) && (wide || kind->name.ends_with("avx2"))) return *kind;
  return format == "f32" ? all.front() : fastest_multiply_add("f32");
}

}  // namespace bench
