// The accountant's training: the state that the optimizer keeps, and FLOPs for a token.
#pragma once

#include <cstdint>

#include <llm/core/error.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config.hpp>

namespace llm {

/// f32: everything in f32, no master copy. bf16_mixed: weights in bf16; their gradients, the master
/// weights and both moments in f32.
enum class TrainingPolicy : std::uint8_t { f32, bf16_mixed };

/// Bytes that training with AdamW holds besides activations.
struct TrainingState {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t master = 0;  // f32 copy of bf16 weights
  std::int64_t m = 0;       // first moment
  std::int64_t v = 0;       // second moment
  std::int64_t total = 0;

  friend constexpr bool operator==(const TrainingState&, const TrainingState&) = default;
};

/// 16 bytes a parameter in f32, 18 in bf16_mixed. Throws ConfigError beyond 63 bits.
constexpr TrainingState training_state(const Config& c, TrainingPolicy policy) {
  const std::int64_t n = parameter_count(c).total;
  const bool mixed = policy == TrainingPolicy::bf16_mixed;
  TrainingState s;
  s.total = detail::exact(detail::Count(mixed ? 18 : 16) * n, "llm::training_state");
  s.weights = n * (mixed ? 2 : 4);
  s.master = mixed ? n * 4 : 0;
  s.gradients = s.m = s.v = n * 4;
  return s;
}

/// FLOPs for one token. A multiply-add counts as two.
struct FlopsPerToken {
  std::int64_t matrices = 0;   // 2 per element of every matrix that the token passes, the head included
  std::int64_t attention = 0;  // for each head and attended position 2 per element of a key (score) and of a value, all layers
  std::int64_t forward = 0;    // matrices + attention
  std::int64_t training = 0;   // 3 x forward: backward costs two products for each one of forward

  friend constexpr bool operator==(const FlopsPerToken&, const FlopsPerToken&) = default;
};

namespace detail {

/// Elements of the matrices that a token is multiplied with: not the embeddings' tables, of the experts only the chosen ones.
constexpr Count multiplied_elements(const Config& c) {
  Count sum = c.tie_embeddings ? Count(c.vocab_size) * c.d_model : Count();
  for_each_matrix(c, [&](const MatrixKind& kind) {
    if (kind.part != Part::embedding && kind.part != Part::positions) sum = sum + kind.each() * kind.layers * kind.active;
  });
  return sum;
}

/// Positions that a token attends to, summed over the layers, when `context` are there.
constexpr Count attended_positions(const Config& c, std::int64_t context) {
  if (c.sliding_window <= 0 || c.sliding_window >= context) return Count(c.n_layers) * context;
  const std::int64_t full = c.full_attention_every > 0 ? c.n_layers / c.full_attention_every : 0;
  return Count(full) * context + Count(c.n_layers - full) * c.sliding_window;
}

}  // namespace detail

/// forward = 2 (active matrices + V D) + 2 (H E_key + H E_value) context summed over layers, for a token that attends to `context_length`
/// positions, in layers with a window to at most that many. For plain multi-head attention the second term is 4 L H E context. The
/// embedding's lookup, biases, norms and softmax are left out. A sequence length T gives the published convention, which ignores the
/// causal mask; the causal average over a sequence is at context_length = (T + 1) / 2, which for layers with a window is an upper bound,
/// since the mean of min(p, W) is at most the minimum of the mean and W. Throws ConfigError beyond 63 bits.
/// Source: arXiv:2001.08361 section 2.1; arXiv:2204.02311 appendix B (6 N + 12 L H E T for training).
constexpr FlopsPerToken flops_per_token(const Config& c, std::int64_t context_length) {
  using detail::Count;
  const Count matrices = Count(2) * detail::multiplied_elements(c);
  const Count attention = Count(2) * (detail::q_width(c) + detail::value_width(c)) * detail::attended_positions(c, context_length);
  FlopsPerToken f;
  f.training = detail::exact(Count(3) * (matrices + attention), "llm::flops_per_token");
  f.matrices = matrices.value;
  f.attention = attention.value;
  f.forward = matrices.value + attention.value;
  return f;
}

}  // namespace llm
