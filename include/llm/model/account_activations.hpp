// The accountant's peaks: the memory of a training step and of generation, as the storage pool's high-water mark shows it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/model/account_bytes.hpp>
#include <llm/model/account_replay.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>

namespace llm {

/// One step of training: loss, backward, clipping, AdamW.
struct TrainingStep {
  std::int64_t batch = 1;
  std::int64_t length = 1;
  DType type = DType::f32;  // of weights and activations: f32, f64 or bf16, whose gradients and master weights are in f32
  bool recompute = false;   // TrainingOptions::recompute
  std::int64_t chunk_bytes = 64 * 1024 * 1024;  // TrainingOptions::chunk_bytes: of the logits, how much is computed at a time
  bool accumulate = false;                      // gradients of an earlier batch are there already, to be added to
};

/// Bytes at the moment of a step when most live.
struct TrainingMemory {
  std::int64_t weights = 0;
  std::int64_t optimizer = 0;    // AdamW's two moments, for bf16 with the f32 master weights
  std::int64_t tables = 0;       // cos and sin of rotary positions
  std::int64_t gradients = 0;    // of the parameters that have one by then; all of them when they accumulate
  std::int64_t activations = 0;  // the batch, what ops saved, gradients under way, logits
  std::int64_t total = 0;

  friend constexpr bool operator==(const TrainingMemory&, const TrainingMemory&) = default;
};

/// Generation for `batch` sequences: a prompt of each at once into an empty cache, then steps of one token each. Session and PromptBatch
/// read one prompt at a time, a long one in pieces, of which none is longer than positions_at_once.
struct Decoding {
  std::int64_t batch = 1;
  std::int64_t prompt = 1;    // tokens of each
  std::int64_t capacity = 0;  // positions of the cache; 0: max_seq_len
  DType type = DType::f32;    // of weights and activations: f32, bf16 or f64
  DType cache_type = DType::f32;
};

/// Bytes of generation.
struct DecodeMemory {
  std::int64_t weights = 0;
  std::int64_t tables = 0;   // cos and sin of rotary positions
  std::int64_t cache = 0;    // keys, values, and where each row stands
  std::int64_t prefill = 0;  // the most that live besides while the prompts pass the model
  std::int64_t decode = 0;   // and during a step of one token each
  std::int64_t total = 0;    // with the larger of the two

  friend constexpr bool operator==(const DecodeMemory&, const DecodeMemory&) = default;
};

namespace detail {

inline constexpr const char* training_memory_name = "llm::training_memory(config, step)";
inline constexpr const char* decode_memory_name = "llm::decode_memory(config, decoding)";

constexpr void require_computed_type(const char* function, DType type) {
  if (type != DType::f32 && type != DType::bf16 && type != DType::f64)
    throw ValueError(concat(function, ": models are trained and run in f32, bf16 or f64, not in ", to_string(type)));
}

constexpr void require_in(const char* function, const char* what, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) throw ValueError(concat(function, ": ", what, " ", value, " is not in 1 .. ", most));
}

[[noreturn]] inline void refuse_unbuildable(const char* function, const Config& c) {
  const auto broken = validate(c), unbuilt = unbuilt_features(c);
  throw ConfigError(concat(
      function, ": there is no model of this config whose memory could be told: ", broken.empty() ? unbuilt.front() : broken.front()));
}

/// The replay follows the layers that LLM builds.
constexpr void require_buildable(const char* function, const Config& c) {
  if (!buildable(c)) refuse_unbuildable(function, c);
}

/// One set of tables, or two where layers with a window rotate otherwise.
constexpr Count rope_table_bytes(const Config& c) {
  return Count(c.max_seq_len) * c.rope_width() * (c.sliding_window > 0 && c.rope_theta_window > 0.0 ? 8 : 4);
}

constexpr Count optimizer_bytes(const Config& c, DType type) {
  const std::int64_t moment = type == DType::f64 ? 8 : 4;
  return total_parameters(c) * (2 * moment + (type == DType::bf16 ? 4 : 0));
}

/// training_memory with sums that stop at 2^63 - 1, of arguments that were checked.
constexpr TrainingMemory replay_training(const Config& c, const TrainingStep& step) {
  Replay replay(c, step.type, step.batch, step.length);
  if (step.accumulate) replay.accumulate();
  replay.training_step(step.recompute, step.chunk_bytes);
  const Ledger& ledger = replay.ledger();
  TrainingMemory m;
  m.weights = (total_parameters(c) * block_format(step.type).bytes).value;
  m.optimizer = optimizer_bytes(c, step.type).value;
  m.tables = rope_table_bytes(c).value;
  m.gradients = ledger.gradients_at_peak();
  m.activations = ledger.peak() - m.gradients;
  m.total = (Count(m.weights) + m.optimizer + m.tables + ledger.peak()).value;
  return m;
}

constexpr void check(const Config& c, const TrainingStep& step) {
  require_buildable(training_memory_name, c);
  require_computed_type(training_memory_name, step.type);
  require_in(training_memory_name, "batch", step.batch, INT64_MAX);
  require_in(training_memory_name, "length", step.length, c.max_seq_len);
}

constexpr std::int64_t last_logits_bytes(const Config& c, DType type, std::int64_t batch, std::int64_t length) {
  Replay replay(c, type, batch, length);
  replay.last_logits();
  return replay.ledger().peak();
}

}  // namespace detail

/// The memory of a training step of this config by LLM<config, Trainable<type>> and AdamW: at any moment of it the storage pool has handed
/// out at most `total` bytes for the model, the optimizer and the step. Not counted: what the pool keeps for reuse beyond that, the blocks'
/// rounding up (at most an eighth) and the kernels' workspace, some MB a thread.
/// Throws ConfigError for a config that LLM cannot build and beyond 62 bits, ValueError for a batch, length or type that cannot be.
constexpr TrainingMemory training_memory(const Config& c, const TrainingStep& step) {
  detail::check(c, step);
  const TrainingMemory m = detail::replay_training(c, step);
  detail::exact(m.total, detail::training_memory_name);
  return m;
}

/// The memory of generation with last_logits: at any moment the pool has handed out at most `total` bytes. Throws as training_memory.
constexpr DecodeMemory decode_memory(const Config& c, const Decoding& d) {
  using detail::Count;
  constexpr const char* name = detail::decode_memory_name;
  detail::require_buildable(name, c);
  detail::require_computed_type(name, d.type);
  const std::int64_t capacity = d.capacity == 0 ? c.max_seq_len : d.capacity;
  detail::require_in(name, "batch", d.batch, INT64_MAX);
  detail::require_in(name, "capacity", capacity, c.max_seq_len);
  detail::require_in(name, "prompt", d.prompt, capacity);
  const Count rows = Count(d.batch) * 2 * 8;  // where each row of the cache stood and stands
  DecodeMemory m;
  m.weights = detail::exact(detail::total_parameters(c) * block_format(d.type).bytes, name);
  m.tables = detail::exact(detail::rope_table_bytes(c), name);
  m.cache = detail::exact(Count(kv_cache_bytes(c, d.cache_type, capacity, d.batch)) + rows, name);
  m.prefill = detail::exact(detail::last_logits_bytes(c, d.type, d.batch, d.prompt), name);
  m.decode = detail::exact(detail::last_logits_bytes(c, d.type, d.batch, 1), name);
  m.total = detail::exact(Count(m.weights) + m.tables + m.cache + (std::max)(m.prefill, m.decode), name);
  return m;
}

}  // namespace llm
