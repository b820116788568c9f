// The kernels without any instruction set in mind: vectors of four floats (SSE2, NEON), or scalars where the compiler has no vectors.
// Products of many rows are Eigen's here.
#pragma once

#include <llm/backend/cpu/simd/prelude.hpp>

namespace llm::cpu::portable {

#if LLM_VECTOR_TYPES
#define LLM_SIMD_WIDTH 4
#define LLM_SIMD [[gnu::always_inline]] inline
#else
#define LLM_SIMD_WIDTH 1
#define LLM_SIMD inline
#endif
#define LLM_SIMD_BLOCK_ROWS 4
#define LLM_SIMD_BLOCK_VECTORS 2
#define LLM_KERNEL inline
#include <llm/backend/cpu/simd/kernels.hpp>
#undef LLM_KERNEL
#undef LLM_SIMD_BLOCK_VECTORS
#undef LLM_SIMD_BLOCK_ROWS
#undef LLM_SIMD
#undef LLM_SIMD_WIDTH

struct Kernels : Elementwise, Activations, Rows, Rotations, AttentionRows, DotRows {
  template <class T>
  using Weights = PlainWeights<T>;
};

}  // namespace llm::cpu::portable
