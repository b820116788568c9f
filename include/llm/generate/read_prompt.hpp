// How a prompt is read: in pieces, so that memory for activations does not grow with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace llm {

/// Most positions of a pass that reads a prompt: a longer one is read in even pieces, and activations take memory for so many positions. A
/// piece has more rows than products of few rows take, so that its bits are those of one pass, but for mixtures of experts, which share
/// rows out, and the portable kernels (LLM_ISA=portable): there they are equal to rounding.
inline constexpr std::int64_t positions_at_once = 256;

namespace detail {

/// Appends ids to a row of a cache; the logits [1, V] that follow the last. Throws as the model does, and then leaves the cache as it was.
template <class Model, class Cache>
typename Model::LastLogits read_prompt(const Model& model, std::span<const std::int32_t> ids, Cache& cache, std::int64_t row) {
  const auto count = static_cast<std::int64_t>(ids.size()), before = cache.length(row);
  const bool fits = count <= cache.capacity() - before;  // else one pass, which says so
  const std::int64_t pieces = fits ? (std::max)(std::int64_t{1}, (count + positions_at_once - 1) / positions_at_once) : 1;
  const auto read = [&](std::int64_t piece) {
    const std::int64_t begin = count * piece / pieces, size = count * (piece + 1) / pieces - begin;
    const auto some = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    return model.last_logits(Model::Ids::from(some, {1, size}), cache, row);
  };
  try {
    for (std::int64_t piece = 0; piece + 1 < pieces; ++piece) (void)read(piece);
    return read(pieces - 1);
  } catch (...) {
    cache.truncate(row, before);
    throw;
  }
}

}  // namespace detail
}  // namespace llm
