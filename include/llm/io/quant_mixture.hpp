// Which formats the tensors of a quantised model have: one for most, more bits where a model is sensitive or a row does not divide.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include <llm/core/dtype.hpp>
#include <llm/io/gguf_plan.hpp>

namespace llm {

/// The format itself when a row of so many elements is a whole number of its blocks, else the next larger one for which it is: blocks of
/// 32, or f16.
constexpr DType format_for_rows(DType format, std::int64_t columns) {
  if (columns % block_format(format).elements == 0) return format;
  if (columns % 32 != 0) return DType::f16;
  switch (format) {
    case DType::q2_k:
    case DType::q3_k:
      return DType::q4_0;
    case DType::q4_k:
      return DType::q5_0;
    case DType::q5_k:
      return DType::q5_1;
    default:
      return DType::q8_0;
  }
}

namespace detail::gguf {

/// The number in "blk.<number>."; -1 for a name without.
inline std::int64_t layer_of(std::string_view name) {
  std::int64_t layer = -1;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

/// The first and the last eighth of the layers, and every third between: where published mixtures spend more bits.
constexpr bool sensitive_layer(std::int64_t layer, std::int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

}  // namespace detail::gguf

/// The format of a tensor in a model quantised to `format`. Matrices have it, except, as in the files that the world publishes,
/// - routers and learned positions, which stay f32;
/// - the embedding and the head, which have at least q6_k; with `pure` they are as the others;
/// - for formats with blocks of 256 below q6_k, the values' and the MLPs' second matrices of sensitive layers: q6_k, or for q2_k and
///   q3_k the next one; with `pure` as the others;
/// - rows that are not a whole number of blocks: see format_for_rows.
inline DType mixed_format(const PlannedTensor& tensor, DType format, std::int64_t layers, bool pure = false) {
  const std::string_view name = tensor.name;
  if (tensor.vector() || name.ends_with("ffn_gate_inp.weight") || name == "position_embd.weight") return DType::f32;
  const std::int64_t columns = tensor.columns();
  if (pure || format == DType::q8_0 || format == DType::q6_k || format == DType::f32 || format == DType::f16 || format == DType::bf16)
    return format_for_rows(format, columns);
  if (name == "token_embd.weight" || name == "output.weight") return format_for_rows(DType::q6_k, columns);
  const bool sensitive = name.find(".attn_v.") != name.npos || name.find(".ffn_down") != name.npos || name.find(".attn_qkv.") != name.npos;
  if (!sensitive || !detail::gguf::sensitive_layer(detail::gguf::layer_of(name), layers)) return format_for_rows(format, columns);
  if (format == DType::q2_k) return format_for_rows(DType::q3_k, columns);
  if (format == DType::q3_k) return format_for_rows(DType::q4_k, columns);
  return format_for_rows(block_format(format).elements == 256 ? DType::q6_k : format, columns);
}

}  // namespace llm
