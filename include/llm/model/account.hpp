// The accountant: parameters, bytes and FLOPs of a Config in 64 bits, the same functions at compile time and at run time.
#pragma once

#include <cstdint>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/model/config.hpp>

namespace llm {

namespace detail {

/// A count that stops at 2^63 - 1 instead of wrapping, so that one formula serves the check for overflow and the answer.
/// A negative factor counts as 0: it breaks a rule of its own.
struct Count {
  std::int64_t value = 0;

  constexpr Count(std::int64_t n) : value(n > 0 ? n : 0) {}  // implicit: the formulas mix numbers and counts

  friend constexpr Count operator+(Count a, Count b) { return a.value > INT64_MAX - b.value ? INT64_MAX : a.value + b.value; }
  friend constexpr Count operator*(Count a, Count b) {
    return b.value != 0 && a.value > INT64_MAX / b.value ? INT64_MAX : a.value * b.value;
  }
};

/// The number, or ConfigError when it reached the limit.
constexpr std::int64_t exact(Count count, const char* what) {
  if (count.value == INT64_MAX) throw ConfigError(concat(what, ": the result exceeds 2^63 - 1"));
  return count.value;
}

constexpr Count q_width(const Config& c) { return Count(c.n_heads) * c.head_width(); }
constexpr Count kv_width(const Config& c) { return Count(c.kv_heads()) * c.head_width(); }

/// Elements of the matrices of one attention layer, without biases: q, k, v and output projection.
constexpr Count attention_matrices(const Config& c) {
  return q_width(c) * c.d_model + Count(2) * kv_width(c) * c.d_model + q_width(c) * c.d_model;
}

/// Elements of the matrices of one MLP, without biases: gate, up and down, or up and down.
constexpr Count mlp_matrices(const Config& c) { return Count(c.gated() ? 3 : 2) * c.d_model * c.ffn_dim; }

constexpr Count attention_parameters(const Config& c) {
  const Count qkv_bias = c.qkv_bias ? q_width(c) + Count(2) * kv_width(c) : Count(0);
  return attention_matrices(c) + qkv_bias + (c.attention_out_bias ? c.d_model : 0);
}

constexpr Count mlp_parameters(const Config& c) {
  const Count bias = c.mlp_bias ? Count(c.gated() ? 2 : 1) * c.ffn_dim + c.d_model : Count(0);
  return mlp_matrices(c) + bias;
}

/// One norm over d_model: a gain, and for LayerNorm a bias.
constexpr Count norm_parameters(const Config& c) { return Count(c.norm == Norm::layer_norm ? 2 : 1) * c.d_model; }

constexpr Count layer_norms(const Config& c) { return Count(2) * norm_parameters(c) + Count(c.qk_norm ? 2 : 0) * c.head_width(); }

constexpr Count block_parameters(const Config& c) { return attention_parameters(c) + mlp_parameters(c) + layer_norms(c); }

constexpr Count embedding_parameters(const Config& c) { return Count(c.vocab_size) * c.d_model; }

constexpr Count position_parameters(const Config& c) {
  return c.position == Position::learned ? Count(c.max_seq_len) * c.d_model : Count(0);
}

constexpr Count final_norm_parameters(const Config& c) { return c.norm_position == NormPosition::pre ? norm_parameters(c) : Count(0); }

constexpr Count head_parameters(const Config& c) { return c.tie_embeddings ? Count(0) : embedding_parameters(c); }

constexpr Count total_parameters(const Config& c) {
  return embedding_parameters(c) + position_parameters(c) + Count(c.n_layers) * block_parameters(c) + final_norm_parameters(c) +
         head_parameters(c);
}

/// Elements of the KV cache for one token: a key and a value of each KV head in each layer.
constexpr Count kv_elements_per_token(const Config& c) { return Count(2) * c.n_layers * kv_width(c); }

}  // namespace detail

/// Parameters of a model and of its parts. A tied head counts once, in `embedding`; `head` is then 0.
struct ParameterCount {
  std::int64_t embedding = 0;
  std::int64_t positions = 0;            // learned positions, max_seq_len x d_model
  std::int64_t attention_per_layer = 0;  // q, k, v and output projection, with their biases
  std::int64_t mlp_per_layer = 0;
  std::int64_t norms_per_layer = 0;  // two norms, and QK-norm's two gains
  std::int64_t block = 0;            // the sum of the three above
  std::int64_t blocks = 0;           // all layers
  std::int64_t final_norm = 0;       // 0 for post-norm, which has none
  std::int64_t head = 0;
  std::int64_t total = 0;

  friend constexpr bool operator==(const ParameterCount&, const ParameterCount&) = default;
};

/// How many parameters a model of this config has. Throws ConfigError when the count exceeds 63 bits.
constexpr ParameterCount parameter_count(const Config& c) {
  ParameterCount n;
  n.embedding = detail::embedding_parameters(c).value;
  n.positions = detail::position_parameters(c).value;
  n.attention_per_layer = detail::attention_parameters(c).value;
  n.mlp_per_layer = detail::mlp_parameters(c).value;
  n.norms_per_layer = detail::layer_norms(c).value;
  n.block = detail::block_parameters(c).value;
  n.blocks = (detail::Count(c.n_layers) * detail::block_parameters(c)).value;
  n.final_norm = detail::final_norm_parameters(c).value;
  n.head = detail::head_parameters(c).value;
  n.total = detail::exact(detail::total_parameters(c), "llm::parameter_count");
  return n;
}

/// Bytes of the weights when every parameter is stored as `type`.
/// Throws ConfigError when they exceed 63 bits, ShapeError when the count is not a whole number of blocks of a block format.
constexpr std::int64_t weight_bytes(const Config& c, DType type) { return storage_bytes(type, parameter_count(c).total); }

/// Bytes of keys and values that one token adds to the KV cache, over all layers: 2 L K E elements.
constexpr std::int64_t kv_cache_bytes_per_token(const Config& c, DType type) {
  return storage_bytes(type, detail::exact(detail::kv_elements_per_token(c), "llm::kv_cache_bytes_per_token"));
}

/// Bytes of a KV cache for `sequences` sequences of `tokens` positions each. Throws ConfigError beyond 63 bits.
constexpr std::int64_t kv_cache_bytes(const Config& c, DType type, std::int64_t tokens, std::int64_t sequences = 1) {
  return detail::exact(detail::Count(kv_cache_bytes_per_token(c, type)) * tokens * sequences, "llm::kv_cache_bytes");
}

/// f32: everything in f32, no master copy. bf16_mixed: weights and gradients in bf16, the master weights and both moments in f32.
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

/// 16 bytes a parameter under both policies. Throws ConfigError beyond 63 bits.
constexpr TrainingState training_state(const Config& c, TrainingPolicy policy) {
  const std::int64_t n = parameter_count(c).total;
  const bool mixed = policy == TrainingPolicy::bf16_mixed;
  TrainingState s;
  s.total = detail::exact(detail::Count(16) * n, "llm::training_state");
  s.weights = s.gradients = n * (mixed ? 2 : 4);
  s.master = mixed ? n * 4 : 0;
  s.m = s.v = n * 4;
  return s;
}

/// FLOPs for one token. A multiply-add counts as two.
struct FlopsPerToken {
  std::int64_t matrices = 0;   // 2 per element of every matrix that the token passes, the head included
  std::int64_t attention = 0;  // 2 E for the score and 2 E for the value of each head and attended position, all layers
  std::int64_t forward = 0;    // matrices + attention
  std::int64_t training = 0;   // 3 x forward: backward costs two products for each one of forward

  friend constexpr bool operator==(const FlopsPerToken&, const FlopsPerToken&) = default;
};

/// forward = 2 (L (attention + MLP matrices) + V D) + 4 L H E context, for a token that attends to `context_length` positions, at most
/// the sliding window. The embedding's lookup, biases, norms and softmax are left out. A sequence length T gives the published convention,
/// which ignores the causal mask; the causal average over a sequence is at context_length = (T + 1) / 2. Throws ConfigError beyond 63 bits.
/// Source: arXiv:2001.08361 section 2.1; arXiv:2204.02311 appendix B (6 N + 12 L H E T for training).
constexpr FlopsPerToken flops_per_token(const Config& c, std::int64_t context_length) {
  using detail::Count;
  const bool windowed = c.sliding_window > 0 && c.sliding_window < context_length;
  const std::int64_t context = windowed ? c.sliding_window : context_length;
  const Count layer = detail::attention_matrices(c) + detail::mlp_matrices(c);
  const Count matrices = Count(2) * (Count(c.n_layers) * layer + Count(c.vocab_size) * c.d_model);
  const Count attention = Count(4) * context * detail::q_width(c) * c.n_layers;
  FlopsPerToken f;
  f.training = detail::exact(Count(3) * (matrices + attention), "llm::flops_per_token");
  f.matrices = matrices.value;
  f.attention = attention.value;
  f.forward = matrices.value + attention.value;
  return f;
}

}  // namespace llm
