// The kernels for AVX2 with FMA and F16C.
#pragma once

#include <llm/backend/cpu/simd/prelude.hpp>

#if LLM_X86

namespace llm::cpu::avx2 {

#define LLM_SIMD_X86 1
#define LLM_SIMD_WIDTH 8
#define LLM_SIMD_BLOCK_ROWS 6
#define LLM_SIMD_BLOCK_VECTORS 2
#define LLM_KERNEL [[gnu::target("avx2,fma,f16c")]] inline
#define LLM_SIMD [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline
#include <llm/backend/cpu/simd/kernels.hpp>
#undef LLM_SIMD
#undef LLM_KERNEL
#undef LLM_SIMD_BLOCK_VECTORS
#undef LLM_SIMD_BLOCK_ROWS
#undef LLM_SIMD_WIDTH
#undef LLM_SIMD_X86

struct Kernels : Elementwise, Activations, Rows, Rotations, AttentionRows, Product, DotRows {
  template <class T>
  using Weights = PlainWeights<T>;
};

}  // namespace llm::cpu::avx2

#endif
