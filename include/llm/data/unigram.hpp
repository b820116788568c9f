// What a model without context would lose on a text: the line that a trained model must fall below.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/error.hpp>

namespace llm {

/// The mean cross-entropy in nats of the training text's token frequencies on the validation text. One is added to each of the
/// vocabulary's counts (Laplace), so that a token the training text lacks costs ln(train + vocab_size) and not infinity.
/// Throws ShapeError when there are no validation tokens, ValueError when a token is outside 0 .. vocab_size - 1.
inline double unigram_loss(std::span<const std::int32_t> train, std::span<const std::int32_t> validation, std::int64_t vocab_size) {
  if (vocab_size < 1) throw ValueError(detail::concat("llm::unigram_loss: vocab_size ", vocab_size, " is not positive"));
  if (validation.empty()) throw ShapeError("llm::unigram_loss: there are no validation tokens");
  const auto index = [&](std::int32_t token) {
    if (token < 0 || token >= vocab_size)
      throw ValueError(detail::concat("llm::unigram_loss: token ", token, " is outside 0 .. ", vocab_size - 1));
    return static_cast<std::size_t>(token);
  };
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocab_size), 1);
  for (const std::int32_t token : train) ++counts[index(token)];
  const double log_total = std::log(static_cast<double>(train.size()) + static_cast<double>(vocab_size));
  double sum = 0;
  for (const std::int32_t token : validation) sum += log_total - std::log(static_cast<double>(counts[index(token)]));
  return sum / static_cast<double>(validation.size());
}

}  // namespace llm
