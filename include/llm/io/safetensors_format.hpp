// What the reader and the writer of safetensors files share: the format's element types and limits.
// Source: the format's description at github.com/huggingface/safetensors (README, "Format").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <llm/core/dtype.hpp>
#include <llm/io/json_text.hpp>

namespace llm::detail::safetensors {

inline constexpr std::uint64_t max_header_bytes = 100'000'000;          // the format's own limit
inline constexpr std::size_t max_string_bytes = max_json_token_bytes;   // one name or metadata value; ours
inline constexpr std::size_t max_rank = 64;                             // ours, as in NumPy and PyTorch
inline constexpr std::size_t max_tensors = std::size_t{1} << 18;        // ours; the largest published models have some 150,000 in all
inline constexpr std::size_t max_metadata_keys = std::size_t{1} << 16;  // ours
inline constexpr std::size_t min_tensor_bytes = 49;                     // of the header: "":{"dtype":"U8","shape":[],"data_offsets":[0,0]}
inline constexpr std::string_view metadata_key = "__metadata__";

struct ElementType {
  std::string_view name;
  std::int64_t bits;
  std::optional<DType> dtype;  // none: the format has it, the library does not
};

inline constexpr std::array<ElementType, 21> element_types{{{"F64", 64, DType::f64},   {"F32", 32, DType::f32}, {"F16", 16, DType::f16},
                                                            {"BF16", 16, DType::bf16}, {"I64", 64, DType::i64}, {"I32", 32, DType::i32},
                                                            {"U8", 8, DType::u8},      {"BOOL", 8, {}},         {"I8", 8, {}},
                                                            {"I16", 16, {}},           {"U16", 16, {}},         {"U32", 32, {}},
                                                            {"U64", 64, {}},           {"C64", 64, {}},         {"F8_E5M2", 8, {}},
                                                            {"F8_E4M3", 8, {}},        {"F8_E8M0", 8, {}},      {"F6_E2M3", 6, {}},
                                                            {"F6_E3M2", 6, {}},        {"F4", 4, {}},           {"F8_E4M3FNUZ", 8, {}}}};

inline const ElementType* find_element_type(std::string_view name) {
  const auto* found = std::find_if(element_types.begin(), element_types.end(), [&](const ElementType& t) { return t.name == name; });
  return found == element_types.end() ? nullptr : found;
}
inline const ElementType* find_element_type(DType dtype) {
  const auto* found = std::find_if(element_types.begin(), element_types.end(), [&](const ElementType& t) { return t.dtype == dtype; });
  return found == element_types.end() ? nullptr : found;
}

}  // namespace llm::detail::safetensors
