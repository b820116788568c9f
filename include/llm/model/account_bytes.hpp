// The accountant's bytes: weights in any storage format and the KV cache.
#pragma once

#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config.hpp>

namespace llm {

/// How a model's weights are stored. `others`: gains, biases, routers and learned positions, which files in block formats keep in f32.
struct WeightFormat {
  DType matrices;
  DType embedding;  // the head's too when it is tied
  DType head;
  DType others;

  /// The usual form of a file in this type: all of it, but a block format keeps these in f32.
  constexpr WeightFormat(DType type)  // implicit: weight_bytes(config, DType::bf16)
      : matrices(type), embedding(type), head(type), others(block_format(type).elements == 1 ? type : DType::f32) {}
  constexpr WeightFormat(DType of_matrices, DType of_embedding, DType of_head, DType of_others = DType::f32)
      : matrices(of_matrices), embedding(of_embedding), head(of_head), others(of_others) {}
};

namespace detail {

constexpr DType stored_as(Part part, const WeightFormat& format) {
  if (part == Part::embedding) return format.embedding;
  if (part == Part::head) return format.head;
  return part == Part::router || part == Part::positions ? format.others : format.matrices;
}

/// Bytes of `rows` rows, each a whole number of blocks.
constexpr Count matrix_bytes(const MatrixKind& kind, DType type) {
  const BlockFormat block = block_format(type);
  if (kind.columns.value % block.elements != 0)
    throw ShapeError(concat("llm::weight_bytes: rows of ", kind.name, " have ", kind.columns.value, " elements, not a whole number of ",
                            to_string(type), " blocks of ", block.elements));
  return kind.rows * (Count(kind.columns.value / block.elements) * block.bytes);
}

/// Elements that one token adds to a layer's key cache, and to its value cache: a row of all KV heads; or the latent and the rotated key.
constexpr Count cache_row(const Config& c) { return c.latent_attention() ? Count(c.mla.kv_rank) + c.mla.rope_dim : kv_width(c); }

/// Elements of the KV cache for one token: a key and a value row in each layer, or one row of the latent.
constexpr Count kv_elements_per_token(const Config& c) { return Count(c.latent_attention() ? 1 : 2) * c.n_layers * cache_row(c); }

}  // namespace detail

/// Bytes of the weights in a storage format; a tied head is stored once.
/// Throws ConfigError beyond 63 bits, ShapeError when a matrix' rows are not whole blocks of its format.
constexpr std::int64_t weight_bytes(const Config& c, WeightFormat format) {
  detail::Count sum = detail::vector_parameters(c) * block_format(format.others).bytes;
  if (block_format(format.others).elements != 1)
    throw ConfigError(detail::concat("llm::weight_bytes: gains and biases cannot be stored in ", to_string(format.others), " blocks"));
  detail::for_each_matrix(c, [&](const detail::MatrixKind& kind) {
    sum = sum + detail::matrix_bytes(kind, detail::stored_as(kind.part, format)) * kind.layers * kind.copies;
  });
  return detail::exact(sum, "llm::weight_bytes");
}

/// Bytes that one token adds to the KV cache, over all layers: 2 L K E elements, or with latent attention L (kv_rank + rope_dim). Layers
/// with a sliding window count as the others, since the cache keeps all positions of a sequence. Throws ShapeError when a row, of all KV
/// heads together, is not a whole number of the type's blocks.
constexpr std::int64_t kv_cache_bytes_per_token(const Config& c, DType type) {
  if (const std::int64_t row = detail::cache_row(c).value, block = block_format(type).elements; row % block != 0)
    throw ShapeError(detail::concat("llm::kv_cache_bytes_per_token: a row of the cache has ", row, " elements, not a whole number of ",
                                    to_string(type), " blocks of ", block));
  return storage_bytes(type, detail::exact(detail::kv_elements_per_token(c), "llm::kv_cache_bytes_per_token"));
}

/// Bytes of a KV cache for `sequences` sequences of `tokens` positions each. Throws ConfigError beyond 63 bits.
constexpr std::int64_t kv_cache_bytes(const Config& c, DType type, std::int64_t tokens, std::int64_t sequences = 1) {
  return detail::exact(detail::Count(kv_cache_bytes_per_token(c, type)) * tokens * sequences, "llm::kv_cache_bytes");
}

}  // namespace llm
