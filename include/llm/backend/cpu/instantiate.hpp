// One file can own a program's kernels: all others, compiled with LLM_EXTERN_KERNELS, declare them and compile none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention.hpp>
#include <llm/backend/cpu/attention_backward.hpp>
#include <llm/backend/cpu/elementwise.hpp>
#include <llm/backend/cpu/linear.hpp>
#include <llm/backend/cpu/mixture.hpp>
#include <llm/backend/cpu/optimizer.hpp>
#include <llm/backend/cpu/rows.hpp>
#include <llm/backend/cpu/stored.hpp>
#include <llm/backend/cpu/tokens.hpp>
#include <llm/backend/cpu/unpacked.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/quant.hpp>

/// In the file that owns them, outside of namespaces: compiles the kernels of the CPU backend and of the reference for element type T,
/// which is float, double or bf16 as it stands. A program whose files are compiled with LLM_EXTERN_KERNELS, all of them, needs these three
/// lines somewhere, in one file or several. Kernels that are not listed here, such as those for other types of indices, every file compiles
/// as ever.
#define LLM_INSTANTIATE_KERNELS(T) LLM_DETAIL_KERNELS_##T(template)

#define LLM_DETAIL_KERNELS_float(keyword)                                   \
  LLM_DETAIL_KERNELS(keyword, float)                                        \
  namespace llm::cpu {                                                      \
  LLM_DETAIL_KERNEL(keyword, embedding_forward_stored, float, std::int32_t) \
  LLM_DETAIL_KERNEL(keyword, store_rows, std::byte)                         \
  LLM_DETAIL_KERNEL(keyword, unpack_rows, std::byte)                        \
  }                                                                         \
  namespace llm::reference {                                                \
  LLM_DETAIL_KERNEL(keyword, embedding_forward_stored, float, std::int32_t) \
  LLM_DETAIL_KERNEL(keyword, router_losses, float)                          \
  }                                                                         \
  namespace llm {                                                           \
  LLM_DETAIL_KERNEL(keyword, dequantize_row, float)                         \
  }

#define LLM_DETAIL_KERNELS_double(keyword)          \
  LLM_DETAIL_KERNELS(keyword, double)               \
  namespace llm::reference {                        \
  LLM_DETAIL_KERNEL(keyword, router_losses, double) \
  }

#define LLM_DETAIL_KERNELS_bf16(keyword)        \
  LLM_DETAIL_KERNELS(keyword, bf16)             \
  namespace llm::cpu {                          \
  LLM_DETAIL_KERNELS_OF_BF16_AND_FLOAT(keyword) \
  }                                             \
  namespace llm::reference {                    \
  LLM_DETAIL_KERNELS_OF_BF16_AND_FLOAT(keyword) \
  }

#define LLM_DETAIL_KERNELS(keyword, T)                                                                                \
  namespace llm::cpu {                                                                                                \
  LLM_DETAIL_KERNELS_OF_BACKEND(keyword, T)                                                                           \
  keyword void linear_forward_stored<T>(const T*, const StoredProduct<T>*, std::int64_t, std::int64_t, std::int64_t); \
  }                                                                                                                   \
  namespace llm::reference {                                                                                          \
  LLM_DETAIL_KERNELS_OF_BACKEND(keyword, T)                                                                           \
  }

#define LLM_DETAIL_KERNELS_OF_BF16_AND_FLOAT(keyword)        \
  LLM_DETAIL_KERNEL(keyword, convert, float, bf16)           \
  LLM_DETAIL_KERNEL(keyword, convert, bf16, float)           \
  LLM_DETAIL_KERNEL(keyword, accumulate, float, bf16)        \
  LLM_DETAIL_KERNEL(keyword, accumulate, bf16, float)        \
  LLM_DETAIL_KERNEL(keyword, attention_forward, float, bf16) \
  LLM_DETAIL_KERNEL(keyword, cache_append, float, bf16)

// What both backends have by the same names.
#define LLM_DETAIL_KERNELS_OF_BACKEND(keyword, T)                             \
  LLM_DETAIL_KERNEL(keyword, fill, T)                                         \
  LLM_DETAIL_KERNEL(keyword, fill_normal, T)                                  \
  LLM_DETAIL_KERNEL(keyword, copy, T)                                         \
  LLM_DETAIL_KERNEL(keyword, convert, T, T)                                   \
  LLM_DETAIL_KERNEL(keyword, add, T)                                          \
  LLM_DETAIL_KERNEL(keyword, accumulate, T, T)                                \
  LLM_DETAIL_KERNEL(keyword, scale, T)                                        \
  LLM_DETAIL_KERNEL(keyword, sum, T)                                          \
  LLM_DETAIL_KERNEL(keyword, sum_of_squares, T)                               \
  LLM_DETAIL_KERNEL(keyword, linear_forward, T)                               \
  LLM_DETAIL_KERNEL(keyword, linear_backward_input, T)                        \
  LLM_DETAIL_KERNEL(keyword, linear_backward_weight, T)                       \
  LLM_DETAIL_KERNEL(keyword, linear_backward_bias, T)                         \
  LLM_DETAIL_KERNEL(keyword, rms_norm_forward, T)                             \
  LLM_DETAIL_KERNEL(keyword, rms_norm_backward, T)                            \
  LLM_DETAIL_KERNEL(keyword, layer_norm_forward, T)                           \
  LLM_DETAIL_KERNEL(keyword, layer_norm_backward, T)                          \
  LLM_DETAIL_KERNEL(keyword, rope, T)                                         \
  LLM_DETAIL_KERNEL(keyword, activation_forward, T)                           \
  LLM_DETAIL_KERNEL(keyword, activation_backward, T)                          \
  LLM_DETAIL_KERNEL(keyword, gated_forward, T)                                \
  LLM_DETAIL_KERNEL(keyword, gated_backward, T)                               \
  LLM_DETAIL_KERNEL(keyword, softmax_forward, T)                              \
  LLM_DETAIL_KERNEL(keyword, softmax_backward, T)                             \
  LLM_DETAIL_KERNEL(keyword, attention_forward, T, T)                         \
  LLM_DETAIL_KERNEL(keyword, attention_backward, T)                           \
  LLM_DETAIL_KERNEL(keyword, cache_append, T, T)                              \
  LLM_DETAIL_KERNEL(keyword, route_forward, T)                                \
  LLM_DETAIL_KERNEL(keyword, route_backward, T)                               \
  LLM_DETAIL_KERNEL(keyword, router_statistics, T)                            \
  LLM_DETAIL_KERNEL(keyword, router_losses_backward, T)                       \
  LLM_DETAIL_KERNEL(keyword, gather_rows, T)                                  \
  LLM_DETAIL_KERNEL(keyword, scale_rows, T)                                   \
  LLM_DETAIL_KERNEL(keyword, row_dots, T)                                     \
  LLM_DETAIL_KERNEL(keyword, combine_rows, T)                                 \
  LLM_DETAIL_KERNEL(keyword, embedding_forward, T, std::int32_t)              \
  LLM_DETAIL_KERNEL(keyword, embedding_backward, T, std::int32_t)             \
  LLM_DETAIL_KERNEL(keyword, cross_entropy_forward, T, std::int32_t)          \
  LLM_DETAIL_KERNEL(keyword, cross_entropy_backward, T, std::int32_t)         \
  keyword void adamw<T>(const AdamWArgs&, const AdamWPart<T>*, std::int64_t); \
  keyword void linear_forward_stored<T>(const T*, DType, const void*, const T*, T*, std::int64_t, std::int64_t, std::int64_t);

// The type of the only function template of this name.
#define LLM_DETAIL_KERNEL(keyword, name, ...) keyword std::remove_pointer_t<decltype(&name<__VA_ARGS__>)> name<__VA_ARGS__>;

#if defined(LLM_EXTERN_KERNELS)
LLM_DETAIL_KERNELS_float(extern template) LLM_DETAIL_KERNELS_double(extern template) LLM_DETAIL_KERNELS_bf16(extern template)
#endif
