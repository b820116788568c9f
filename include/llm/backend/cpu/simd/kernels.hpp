// All kernels of one instruction set. Included by isa_*.hpp inside the namespace llm::cpu::<instruction set>.
#if defined(LLM_SIMD_WIDTH)

#include <llm/backend/cpu/simd/vector.hpp>
//
#include <llm/backend/cpu/simd/math.hpp>
#include <llm/backend/cpu/simd/multiply.hpp>
#include <llm/backend/cpu/simd/transpose.hpp>
//
#include <llm/backend/cpu/simd/activation.hpp>
#include <llm/backend/cpu/simd/dot_rows.hpp>
#include <llm/backend/cpu/simd/elementwise.hpp>
#include <llm/backend/cpu/simd/product.hpp>
#include <llm/backend/cpu/simd/product_bf16.hpp>
#include <llm/backend/cpu/simd/rope.hpp>
#include <llm/backend/cpu/simd/rows.hpp>
//
#include <llm/backend/cpu/simd/tile_product.hpp>
//
#include <llm/backend/cpu/simd/attention.hpp>
//
#include <llm/backend/cpu/simd/int8.hpp>
#include <llm/backend/cpu/simd/round_rows.hpp>
//
#include <llm/backend/cpu/simd/rounded_product.hpp>

#endif
