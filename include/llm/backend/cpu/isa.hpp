// Which instruction set the kernels use: chosen once at run time from what the CPU has.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

#include <llm/core/error.hpp>
#include <llm/detail/platform.hpp>

#if LLM_X86
#include <cpuid.h>
#endif

namespace llm::cpu {

/// From narrow to wide. avx2_vnni and avx512_vnni are avx2 and avx512 but for products of bytes, avx512_bf16 is avx512_vnni but for
/// products of bf16 matrices.
enum class Isa : int { portable, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16 };

inline constexpr Isa all_isas[] = {Isa::portable, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16};

constexpr std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx2_vnni:
      return "avx2_vnni";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::avx512_bf16:
      return "avx512_bf16";
  }
  return "?";
}

#if LLM_X86
/// Conversions of half precision; clang 14 does not know the name "f16c" in __builtin_cpu_supports.
inline bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/// Dot products of bytes in registers of AVX2; compilers do not agree on the name in __builtin_cpu_supports.
inline bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0;
}
#endif

/// Whether this CPU, and this build, can run the kernels of an instruction set.
inline bool has_isa(Isa isa) {
#if LLM_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (isa == Isa::avx2) return avx2;
  if (isa == Isa::avx2_vnni) return avx2 && has_avx_vnni();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (isa == Isa::avx512) return avx512;
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::avx512_vnni) return vnni;
  if (isa == Isa::avx512_bf16) return vnni && __builtin_cpu_supports("avx512bf16");
#endif
  return isa == Isa::portable;
}

inline Isa checked_isa(Isa isa) {
  if (!has_isa(isa)) throw ValueError(detail::concat("llm: this CPU (or this build) has no ", to_string(isa), " instructions"));
  return isa;
}

/// What the environment variable LLM_ISA says, else the widest that the CPU has. Throws ValueError when LLM_ISA is none of ours, or one
/// that the CPU lacks.
inline Isa detect_isa() {
  if (const char* wanted = std::getenv("LLM_ISA"); wanted != nullptr && *wanted != '\0') {
    for (const Isa isa : all_isas)
      if (to_string(isa) == wanted) return checked_isa(isa);
    throw ValueError(detail::concat("llm: LLM_ISA=", wanted, " is none of portable, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16"));
  }
  Isa widest = Isa::portable;
  for (const Isa isa : all_isas)
    if (has_isa(isa)) widest = isa;
  return widest;
}

LLM_SHARED inline std::atomic<int> chosen_isa{-1};

inline Isa current_isa() {
  int isa = chosen_isa.load(std::memory_order_relaxed);
  if (isa < 0) {
    isa = static_cast<int>(detect_isa());
    chosen_isa.store(isa, std::memory_order_relaxed);
  }
  return static_cast<Isa>(isa);
}

/// For tests and benchmarks: kernels use this instruction set from now on. Throws ValueError when the CPU lacks it.
inline void set_isa(Isa isa) { chosen_isa.store(static_cast<int>(checked_isa(isa)), std::memory_order_relaxed); }

}  // namespace llm::cpu
