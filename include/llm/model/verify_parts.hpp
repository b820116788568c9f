// What the acceptance checks share: random ids, loss and differences on the host, texts.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <llm/core/rng.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// Ids for the checks are random: `batch` rows of `length` tokens from `seed`.
struct VerifyOptions {
  std::int64_t batch = 2;
  std::int64_t length = 128;
  std::uint64_t seed = 1;
};

namespace detail {

/// printf of one number.
inline std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

inline void require_verifiable(const char* function, std::int64_t vocab_size, const VerifyOptions& o) {
  if (vocab_size < 2 || o.batch < 1 || o.length < 2)
    throw ValueError(
        concat(function, ": vocab_size ", vocab_size, " >= 2, batch ", o.batch, " >= 1 and length ", o.length, " >= 2 are required"));
}

/// batch rows of length + 1 ids: a row's first `length` are inputs, its last `length` the targets of those.
inline std::vector<Token> random_ids(std::int64_t vocab_size, const VerifyOptions& o) {
  Rng rng(o.seed);
  std::vector<Token> ids(static_cast<std::size_t>(o.batch * (o.length + 1)));
  for (Token& id : ids) id = static_cast<Token>(rng.below(static_cast<std::uint64_t>(vocab_size)));
  return ids;
}

template <class Backend>
Tensor<Token, Shape<dyn, dyn>, Backend> inputs_of(const std::vector<Token>& ids, const VerifyOptions& o) {
  std::vector<Token> inputs;
  for (std::int64_t at = 0; at < o.batch * (o.length + 1); ++at)
    if ((at + 1) % (o.length + 1) != 0) inputs.push_back(ids[static_cast<std::size_t>(at)]);
  return Tensor<Token, Shape<dyn, dyn>, Backend>::from(inputs, {o.batch, o.length});
}

/// The ids with every one from position `first` of each row on replaced by another one.
inline std::vector<Token> changed_from(std::vector<Token> ids, std::int64_t first, std::int64_t vocab_size, const VerifyOptions& o) {
  Rng rng(o.seed, 1);
  for (std::int64_t at = 0; at < o.batch * (o.length + 1); ++at) {
    Token& id = ids[static_cast<std::size_t>(at)];
    const auto step = 1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(vocab_size - 1)));
    if (at % (o.length + 1) >= first) id = static_cast<Token>((id + step) % vocab_size);
  }
  return ids;
}

/// Mean over all positions of -log softmax(logits)[target], in double.
template <class T>
double mean_loss(const std::vector<T>& logits, const std::vector<Token>& ids, std::int64_t v, const VerifyOptions& o) {
  double sum = 0.0;
  for (std::int64_t row = 0; row < o.batch * o.length; ++row) {
    const T* const from = logits.data() + row * v;
    double largest = -HUGE_VAL, total = 0.0;
    for (std::int64_t i = 0; i < v; ++i) largest = std::fmax(largest, static_cast<double>(from[i]));
    for (std::int64_t i = 0; i < v; ++i) total += std::exp(static_cast<double>(from[i]) - largest);
    const std::int64_t target = ids[static_cast<std::size_t>(row + row / o.length + 1)];
    sum += largest + std::log(total) - static_cast<double>(from[target]);
  }
  return sum / static_cast<double>(o.batch * o.length);
}

/// Largest |a - b| over the positions [first, last) of each row; infinity when one is not a number.
template <class T>
double largest_change(const std::vector<T>& a, const std::vector<T>& b, std::int64_t first, std::int64_t last, std::int64_t v,
                      std::int64_t length) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t position = static_cast<std::int64_t>(i) / v % length;
    if (position < first || position >= last) continue;
    const double change = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(change <= largest)) largest = std::isnan(change) ? HUGE_VAL : change;
  }
  return largest;
}

template <class Tensor>
std::string shape_text(const Tensor& t) {
  std::string text;
  for (int i = 0; i < Tensor::rank; ++i) text += (i == 0 ? "(" : ", ") + std::to_string(t.extent(i));
  return text + ")";
}

/// Whether a tensor is [batch, length, v]. The other checks index by it.
template <class Tensor>
bool has_logits_shape(const Tensor& t, std::int64_t v, const VerifyOptions& o) {
  if constexpr (Tensor::rank == 3)
    return t.extent(0) == o.batch && t.extent(1) == o.length && t.extent(2) == v;
  else
    return false;
}

/// The logits on the host. Throws ShapeError when the callable returns another shape.
template <class Logits>
auto host_logits(const char* function, const Logits& logits, std::int64_t v, const VerifyOptions& o) {
  if (!has_logits_shape(logits, v, o))
    throw ShapeError(concat(function, ": the logits are ", shape_text(logits), ", expected (", o.batch, ", ", o.length, ", ", v, ")"));
  return logits.to_vector();
}

}  // namespace detail
}  // namespace llm
