// What all parts of the GGUF reader share: GGML's element types, the types of metadata values, and limits.
// Source: docs/gguf.md of github.com/ggml-org/ggml; block sizes as in the Python package gguf.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>

namespace llm {

/// The type of a metadata value, by the format's numbers.
enum class GgufType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

namespace detail::gguf {

// Ours, where the format has none: far beyond published files, and small enough that names and positions of everything fit in a few MiB.
inline constexpr std::uint64_t max_pairs = 65536;                           // metadata keys
inline constexpr std::uint64_t max_tensors = 65536;                         // tensors
inline constexpr std::uint64_t max_names_bytes = std::uint64_t{3} << 20;    // all keys, or all tensor names, together
inline constexpr int max_array_depth = 8;                                   // arrays within arrays
inline constexpr std::uint64_t max_alignment = 65536, min_alignment = 8;    // the format: a multiple of 8
inline constexpr std::uint64_t default_alignment = 32;                      // the format's
inline constexpr std::uint64_t max_key_bytes = 65535, max_name_bytes = 64;  // the format's
inline constexpr std::uint32_t max_dimensions = 4;                          // the format's
inline constexpr std::uint64_t min_pair_bytes = 8 + 1 + 4 + 1;              // length, key, type, value
inline constexpr std::uint64_t min_tensor_bytes = 8 + 1 + 4 + 4 + 8;        // length, name, dimensions, type, offset
inline constexpr std::string_view alignment_key = "general.alignment";

inline constexpr std::string_view type_names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                  "bool", "string", "array", "u64", "i64", "f64"};
inline constexpr std::uint32_t type_count = 13;

/// Bytes of a value of this type; 0 for strings and arrays, whose length stands in the file.
constexpr std::uint64_t type_bytes(GgufType type) {
  constexpr std::uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return bytes[static_cast<std::size_t>(type)];
}
/// Bytes of the smallest value of this type: an empty string or array.
constexpr std::uint64_t min_type_bytes(GgufType type) {
  if (type == GgufType::string) return 8;
  return type == GgufType::array ? 12 : type_bytes(type);
}

/// An element type of GGML: a row is stored in blocks of `elements` that take `bytes` each.
struct ElementType {
  std::string_view name;  // empty: no type has this number, or one that was removed
  std::int64_t elements;
  std::int64_t bytes;
  std::optional<DType> dtype;  // none: the format has it, the library does not
};

/// By GGML's numbers.
inline constexpr std::array<ElementType, 42> element_types{{{"F32", 1, 4, DType::f32},
                                                            {"F16", 1, 2, DType::f16},
                                                            {"Q4_0", 32, 18, DType::q4_0},
                                                            {"Q4_1", 32, 20, DType::q4_1},
                                                            {},  // Q4_2
                                                            {},  // Q4_3
                                                            {"Q5_0", 32, 22, DType::q5_0},
                                                            {"Q5_1", 32, 24, DType::q5_1},
                                                            {"Q8_0", 32, 34, DType::q8_0},
                                                            {"Q8_1", 32, 40, {}},
                                                            {"Q2_K", 256, 84, DType::q2_k},
                                                            {"Q3_K", 256, 110, DType::q3_k},
                                                            {"Q4_K", 256, 144, DType::q4_k},
                                                            {"Q5_K", 256, 176, DType::q5_k},
                                                            {"Q6_K", 256, 210, DType::q6_k},
                                                            {"Q8_K", 256, 292, {}},
                                                            {"IQ2_XXS", 256, 66, {}},
                                                            {"IQ2_XS", 256, 74, {}},
                                                            {"IQ3_XXS", 256, 98, {}},
                                                            {"IQ1_S", 256, 50, {}},
                                                            {"IQ4_NL", 32, 18, {}},
                                                            {"IQ3_S", 256, 110, {}},
                                                            {"IQ2_S", 256, 82, {}},
                                                            {"IQ4_XS", 256, 136, {}},
                                                            {"I8", 1, 1, {}},
                                                            {"I16", 1, 2, {}},
                                                            {"I32", 1, 4, DType::i32},
                                                            {"I64", 1, 8, DType::i64},
                                                            {"F64", 1, 8, DType::f64},
                                                            {"IQ1_M", 256, 56, {}},
                                                            {"BF16", 1, 2, DType::bf16},
                                                            {},  // Q4_0_4_4
                                                            {},  // Q4_0_4_8
                                                            {},  // Q4_0_8_8
                                                            {"TQ1_0", 256, 54, {}},
                                                            {"TQ2_0", 256, 66, {}},
                                                            {},  // IQ4_NL_4_4
                                                            {},  // IQ4_NL_4_8
                                                            {},  // IQ4_NL_8_8
                                                            {"MXFP4", 32, 17, {}},
                                                            {"NVFP4", 64, 36, {}},
                                                            {"Q1_0", 128, 18, {}}}};

/// Null when no type has this number, or the type was removed from the format.
constexpr const ElementType* find_element_type(std::uint32_t number) {
  return number < element_types.size() && !element_types[number].name.empty() ? &element_types[number] : nullptr;
}

/// Whether the library's block formats are the table's.
constexpr bool same_blocks_as_dtype() {
  for (const ElementType& type : element_types)
    if (type.dtype && (block_format(*type.dtype).elements != type.elements || block_format(*type.dtype).bytes != type.bytes)) return false;
  return true;
}
static_assert(same_blocks_as_dtype());

/// Says which file is wrong and why.
[[noreturn]] inline void fail(const std::string& path, std::string_view reason) {
  throw FileError(concat("llm::GgufFile: ", path, ": ", reason));
}

}  // namespace detail::gguf

constexpr std::string_view to_string(GgufType type) { return detail::gguf::type_names[static_cast<std::size_t>(type)]; }

}  // namespace llm
