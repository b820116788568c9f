// The accountant's plans: what fits a memory, how long training takes, how fast decoding can be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/model/account_activations.hpp>
#include <llm/model/account_bytes.hpp>
#include <llm/model/account_training.hpp>
#include <llm/model/config.hpp>

namespace llm {

namespace detail {

/// The largest n of 0 .. most for which fits(n) holds, where fits is true up to some n and false beyond. fits(0) is not asked.
template <class Fits>
constexpr std::int64_t largest(std::int64_t most, const Fits& fits) {
  std::int64_t low = 0, high = (std::max)(most, std::int64_t{0});
  while (low < high) {
    const std::int64_t middle = high - (high - low) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

constexpr void require_positive(const char* function, const char* what, double value) {
  if (!(value > 0.0 && value <= (std::numeric_limits<double>::max)()))
    throw ValueError(concat(function, ": ", what, " ", value, " must be positive and finite"));
}
constexpr void require_at_least_one(const char* function, const char* what, std::int64_t value) {
  if (value < 1) throw ValueError(concat(function, ": ", what, " ", value, " is not positive"));
}

}  // namespace detail

/// The largest batch whose training step takes at most `memory` bytes (see training_memory for what is counted); step.batch is not read.
/// 0: it does not fit with a batch of one either. Throws as training_memory.
constexpr std::int64_t largest_batch(const Config& c, TrainingStep step, std::int64_t memory) {
  step.batch = 1;
  detail::check(c, step);
  const std::int64_t ids = (detail::Count(step.length) * 8).value;  // the least that a sequence takes
  return detail::largest(memory / ids, [&](std::int64_t batch) {
    step.batch = batch;
    const std::int64_t total = detail::replay_training(c, step).total;
    return total <= memory && total < INT64_MAX;
  });
}

/// Where a model generates: how weights and cache are stored, and the memory for both.
struct Placement {
  WeightFormat weights = DType::bf16;
  DType cache_type = DType::bf16;
  std::int64_t memory = 0;
};

namespace detail {

/// How often `each` bytes go into what the weights leave of the memory.
constexpr std::int64_t times_beside_weights(const Config& c, const Placement& p, Count each) {
  const std::int64_t weights = weight_bytes(c, p.weights);
  if (weights > p.memory) return 0;
  return (p.memory - weights) / (std::max)(each.value, std::int64_t{1});
}

}  // namespace detail

/// The largest context, at most max_seq_len, whose KV cache fits beside the weights for `sequences` sequences. 0: not one position does.
/// Activations are not counted: see decode_memory. Throws as weight_bytes, and ValueError when sequences is not positive.
constexpr std::int64_t largest_context(const Config& c, const Placement& placement, std::int64_t sequences = 1) {
  detail::require_at_least_one("llm::largest_context", "sequences", sequences);
  const detail::Count each = detail::Count(kv_cache_bytes_per_token(c, placement.cache_type)) * sequences;
  return (std::min)(detail::times_beside_weights(c, placement, each), c.max_seq_len);
}

/// How many sequences of `context` positions fit beside the weights. 0: none. Throws as largest_context, also for a context beyond
/// max_seq_len.
constexpr std::int64_t largest_sequences(const Config& c, const Placement& placement, std::int64_t context) {
  detail::require_in("llm::largest_sequences", "context", context, c.max_seq_len);
  return detail::times_beside_weights(c, placement, kv_cache_bytes(c, placement.cache_type, context));
}

/// What a machine computes: its peak, and the part of it that a program reaches.
struct ComputeSpeed {
  double flops_per_second = 0;
  double utilisation = 1;  // in (0, 1]
};

/// Seconds to train `tokens` tokens: their FLOPs over what the machine computes. `context_length` as for flops_per_token: (T + 1) / 2 for
/// kernels that skip masked positions, as this library's, T by the published convention. Throws ValueError for a speed that cannot be.
constexpr double training_seconds(const Config& c, std::int64_t tokens, std::int64_t context_length, const ComputeSpeed& speed) {
  detail::require_at_least_one("llm::training_seconds", "tokens", tokens);
  detail::require_at_least_one("llm::training_seconds", "context_length", context_length);
  detail::require_positive("llm::training_seconds", "flops_per_second", speed.flops_per_second);
  if (!(speed.utilisation > 0.0 && speed.utilisation <= 1.0))
    throw ValueError(detail::concat("llm::training_seconds: utilisation ", speed.utilisation, " is not in (0, 1]"));
  const double flops = static_cast<double>(flops_per_token(c, context_length).training) * static_cast<double>(tokens);
  return flops / (speed.flops_per_second * speed.utilisation);
}

/// One step of decoding: a token for each of `batch` sequences that have `context` positions.
struct DecodeStep {
  WeightFormat weights = DType::bf16;
  DType cache_type = DType::bf16;
  std::int64_t context = 1;
  std::int64_t batch = 1;
};

/// Bytes that a step of decoding must read.
struct DecodeReads {
  std::int64_t weights = 0;  // once for the whole batch
  std::int64_t cache = 0;    // of all sequences
  std::int64_t total = 0;

  friend constexpr bool operator==(const DecodeReads&, const DecodeReads&) = default;
};

namespace detail {

/// Of `count` experts, those that a batch meets on average when every token chooses `active` of them evenly.
constexpr double experts_met(std::int64_t count, std::int64_t active, std::int64_t batch) {
  if (active >= count) return static_cast<double>(count);  // also a config that nobody validated has an answer
  const double missed = 1.0 - static_cast<double>(active) / static_cast<double>(count);  // by one token
  double missed_by_all = 1.0, power = missed;
  for (std::int64_t n = batch; n > 0; n /= 2, power *= power)
    if (n % 2 != 0) missed_by_all *= power;
  return static_cast<double>(count) * (1.0 - missed_by_all);
}

/// Bytes of a kind of matrix in one layer that a step reads.
constexpr Count bytes_read(const MatrixKind& kind, const WeightFormat& format, std::int64_t batch) {
  const Count bytes = matrix_bytes(kind, stored_as(kind.part, format));
  if (kind.part != Part::expert) return bytes * kind.copies;
  if (batch == 1) return bytes * kind.active;
  const double some = static_cast<double>(bytes.value) * experts_met(kind.copies.value, kind.active.value, batch);
  return some >= 9e18 ? INT64_MAX : static_cast<std::int64_t>(some + 0.5);
}

}  // namespace detail

/// What one step of decoding reads: every matrix that a token is multiplied with, gains and biases, and the keys and values of the
/// positions that it attends to. Not the embedding's table, unless it is the head too. Of experts those that a token chooses; in a batch as
/// many as it meets when choices fall evenly. Throws as weight_bytes, and ValueError for a context or batch that cannot be.
constexpr DecodeReads decode_reads(const Config& c, const DecodeStep& step) {
  using detail::Count, detail::Part;
  detail::require_in("llm::decode_reads", "context", step.context, c.max_seq_len);
  detail::require_at_least_one("llm::decode_reads", "batch", step.batch);
  weight_bytes(c, step.weights);  // refuses a format that cannot be
  Count weights = detail::vector_parameters(c) * block_format(step.weights.others).bytes;
  detail::for_each_matrix(c, [&](const detail::MatrixKind& kind) {
    if (kind.part == Part::positions || (kind.part == Part::embedding && !c.tie_embeddings)) return;
    weights = weights + detail::bytes_read(kind, step.weights, step.batch) * kind.layers;
  });
  const Count layer = kv_cache_bytes_per_token(c, step.cache_type) / (std::max)(c.n_layers, std::int64_t{1});
  const Count cache = layer * detail::attended_positions(c, step.context) * step.batch;
  DecodeReads reads;
  reads.total = detail::exact(weights + cache, "llm::decode_reads");
  reads.weights = weights.value;
  reads.cache = cache.value;
  return reads;
}

/// Tokens a second, of all sequences together, that no decoder exceeds whose memory gives `bytes_per_second`: the batch over the time to
/// read what a step reads. For large batches arithmetic sets a lower bound. Throws as decode_reads, and ValueError for a speed
/// that cannot be.
constexpr double decode_tokens_per_second(const Config& c, const DecodeStep& step, double bytes_per_second) {
  detail::require_positive("llm::decode_tokens_per_second", "bytes_per_second", bytes_per_second);
  return static_cast<double>(step.batch) * bytes_per_second / static_cast<double>(decode_reads(c, step).total);
}

}  // namespace llm
