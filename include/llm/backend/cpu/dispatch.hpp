// Calls the kernels of the instruction set that was chosen at run time.
#pragma once

#include <type_traits>

#include <llm/backend/cpu/isa.hpp>
#include <llm/backend/cpu/isa_avx2.hpp>
#include <llm/backend/cpu/isa_avx512.hpp>
#include <llm/backend/cpu/isa_portable.hpp>
#include <llm/backend/reference/reference.hpp>

namespace llm::cpu {

/// f(Kernels{}) with the kernels for float and bf16 of the chosen instruction set.
template <class F>
decltype(auto) with_vectors(const F& f) {
  switch (current_isa()) {
#if LLM_X86
    case Isa::avx512_bf16:
    case Isa::avx512_vnni:
    case Isa::avx512:
      return f(avx512::Kernels{});
    case Isa::avx2_vnni:
    case Isa::avx2:
      return f(avx2::Kernels{});
#endif
    default:
      return f(portable::Kernels{});
  }
}

/// f(kernels) with the products of packed weights of the chosen instruction set.
template <class F>
decltype(auto) with_rounded_products(const F& f) {
  switch (current_isa()) {
#if LLM_X86
    case Isa::avx512_bf16:
    case Isa::avx512_vnni:
      return f(avx512::RoundedProduct<avx512::DotBytes>{});
    case Isa::avx512:
      return f(avx512::RoundedProduct<avx512::DotPairs>{});
    case Isa::avx2_vnni:
      return f(avx2::RoundedProduct<avx2::DotBytes>{});
    case Isa::avx2:
      return f(avx2::RoundedProduct<avx2::DotPairs>{});
#endif
    default:
      return f(portable::RoundedProduct{});
  }
}

/// f(Kernels{}) for element type T. Vectors are of floats: double, which gradient checks use, gets the reference's loops.
template <class T, class F>
decltype(auto) with_kernels(const F& f) {
  if constexpr (std::is_same_v<T, double>)
    return f(Reference{});
  else
    return with_vectors(f);
}

}  // namespace llm::cpu
