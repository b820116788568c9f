// Divides a text's tokens into a part for training and a part for validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/error.hpp>

namespace llm {

/// Two parts of one token sequence, which must outlive them.
struct TokenSplit {
  std::span<const std::int32_t> train;
  std::span<const std::int32_t> validation;
};

/// The last `validation_fraction` of the tokens (rounded down) for validation, the rest before it for training.
/// Throws ValueError when the fraction is not between 0 and 1, ShapeError when a part has no window of `length` tokens and a target.
inline TokenSplit split_tokens(std::span<const std::int32_t> tokens, double validation_fraction, std::int64_t length) {
  if (!(validation_fraction > 0 && validation_fraction < 1))
    throw ValueError(detail::concat("llm::split_tokens: fraction ", validation_fraction, " is not between 0 and 1"));
  if (length < 1) throw ValueError(detail::concat("llm::split_tokens: window length ", length, " is not positive"));
  const auto count = static_cast<std::int64_t>(tokens.size());
  const auto validation = static_cast<std::int64_t>(static_cast<double>(count) * validation_fraction);
  const std::int64_t train = count - validation;
  if (train <= length || validation <= length)
    throw ShapeError(detail::concat("llm::split_tokens: ", count, " tokens give ", train, " for training and ", validation,
                                    " for validation; a window of ", length, " tokens and a target needs ", length,
                                    " + 1 in each (hint: more text or shorter windows)"));
  return {tokens.first(static_cast<std::size_t>(train)), tokens.last(static_cast<std::size_t>(validation))};
}
TokenSplit split_tokens(std::vector<std::int32_t>&& tokens, double validation_fraction, std::int64_t length) = delete;

}  // namespace llm
