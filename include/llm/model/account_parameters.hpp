// The accountant's first table: how many parameters a Config has, part by part, in all and for one token.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <llm/core/error.hpp>
#include <llm/model/config.hpp>

namespace llm {

namespace detail {

/// A count that stops at 2^63 - 1 instead of wrapping, so that one formula serves the check for overflow and the answer.
/// A negative factor counts as 0: it breaks a rule of its own.
struct Count {
  std::int64_t value = 0;

  constexpr Count() = default;
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
/// Width of all heads' values side by side, before the output projection.
constexpr Count value_width(const Config& c) { return Count(c.n_heads) * (c.latent_attention() ? c.mla.v_dim : c.head_width()); }

constexpr Count expert_layers(const Config& c) {
  const auto& e = c.experts;
  return c.has_experts() && e.every > 0 && e.first_dense >= 0 && c.n_layers > e.first_dense ? (c.n_layers - e.first_dense) / e.every : 0;
}
constexpr Count dense_layers(const Config& c) { return c.n_layers - expert_layers(c).value; }

/// The part of a model that a matrix belongs to.
enum class Part : std::uint8_t { embedding, positions, attention, mlp, router, expert, shared_expert, head };

/// Equal matrices [rows, columns] of a model: `copies` of them in each of `layers` layers, `active` of which one token passes.
struct MatrixKind {
  const char* name;
  Part part;
  Count rows, columns;
  Count layers = 1, copies = 1, active = 1;

  constexpr Count each() const { return rows * columns; }
};

template <class F>
constexpr void for_each_attention_matrix(const Config& c, F&& f) {
  const auto matrix = [&](const char* name, Count rows, Count columns) { f({name, Part::attention, rows, columns, c.n_layers}); };
  if (c.latent_attention()) {
    const auto& mla = c.mla;
    if (mla.q_rank > 0) matrix("q_a_proj", mla.q_rank, c.d_model);
    matrix(mla.q_rank > 0 ? "q_b_proj" : "q_proj", q_width(c), mla.q_rank > 0 ? mla.q_rank : c.d_model);
    matrix("kv_a_proj", Count(mla.kv_rank) + mla.rope_dim, c.d_model);
    matrix("kv_b_proj", Count(c.n_heads) * (Count(mla.nope_dim) + mla.v_dim), mla.kv_rank);
  } else {
    matrix("q_proj", q_width(c), c.d_model);
    matrix("k_proj", kv_width(c), c.d_model);
    matrix("v_proj", kv_width(c), c.d_model);
  }
  matrix("o_proj", c.d_model, value_width(c));
}

/// Calls f(MatrixKind) for the matrices of a feed-forward part of this width: gate, up and down, or up and down.
template <class F>
constexpr void for_each_mlp_matrix(const Config& c, MatrixKind kind, std::int64_t width, F&& f) {
  for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
    if (name[0] == 'g' && !c.gated()) continue;
    const bool down = name[0] == 'd';
    kind.name = name;
    kind.rows = down ? c.d_model : width;
    kind.columns = down ? width : c.d_model;
    f(kind);
  }
}

/// Calls f(MatrixKind) for every matrix of a model. A tied head is not listed: it is the embedding.
template <class F>
constexpr void for_each_matrix(const Config& c, F&& f) {
  const auto& e = c.experts;
  f(MatrixKind{"embed_tokens", Part::embedding, c.vocab_size, c.d_model});
  if (c.position == Position::learned) f(MatrixKind{"embed_positions", Part::positions, c.max_seq_len, c.d_model});
  for_each_attention_matrix(c, [&](const MatrixKind& kind) { f(kind); });
  if (dense_layers(c).value > 0) for_each_mlp_matrix(c, {"", Part::mlp, 0, 0, dense_layers(c)}, c.ffn_dim, f);
  if (const Count layers = expert_layers(c); layers.value > 0) {
    f(MatrixKind{"router", Part::router, e.count, c.d_model, layers});
    for_each_mlp_matrix(c, {"", Part::expert, 0, 0, layers, e.count, e.active}, c.expert_ffn_dim(), f);
    if (e.shared_ffn_dim > 0) for_each_mlp_matrix(c, {"", Part::shared_expert, 0, 0, layers}, e.shared_ffn_dim, f);
    if (e.shared_gate) f(MatrixKind{"shared_expert_gate", Part::shared_expert, 1, c.d_model, layers});
  }
  if (!c.tie_embeddings) f(MatrixKind{"lm_head", Part::head, c.vocab_size, c.d_model});
}

/// Elements of one copy of a part's matrices: of one layer's attention, of one expert, ...
constexpr Count matrices_of(const Config& c, Part part) {
  Count sum;
  for_each_matrix(c, [&](const MatrixKind& kind) { sum = kind.part == part ? sum + kind.each() : sum; });
  return sum;
}

constexpr Count attention_biases(const Config& c) {
  return (c.qkv_bias ? q_width(c) + Count(2) * kv_width(c) : Count()) + (c.attention_out_bias ? c.d_model : 0);
}

constexpr Count mlp_biases(const Config& c) {
  return c.mlp_bias && dense_layers(c).value > 0 ? Count(c.gated() ? 2 : 1) * c.ffn_dim + c.d_model : Count();
}

/// One norm over d_model: a gain, and for LayerNorm a bias.
constexpr Count norm_parameters(const Config& c) { return Count(c.norm == Norm::layer_norm ? 2 : 1) * c.d_model; }

/// The norms of a layer: around its two branches, of queries and keys, of the latents.
constexpr Count layer_norms(const Config& c) {
  const Count qk = !c.qk_norm ? Count() : c.qk_norm_joint ? q_width(c) + kv_width(c) : Count(2) * c.head_width();
  const Count latents = c.latent_attention() ? Count(c.mla.kv_rank) + c.mla.q_rank : Count();
  return Count(c.norm_position == NormPosition::sandwich ? 4 : 2) * norm_parameters(c) + qk + latents;
}

constexpr Count final_norm_parameters(const Config& c) { return c.norm_position == NormPosition::post ? Count() : norm_parameters(c); }

constexpr Count attention_parameters(const Config& c) { return matrices_of(c, Part::attention) + attention_biases(c); }
constexpr Count mlp_parameters(const Config& c) { return matrices_of(c, Part::mlp) + mlp_biases(c); }
constexpr Count router_parameters(const Config& c) { return matrices_of(c, Part::router) + (c.experts.score_bias ? c.experts.count : 0); }
constexpr Count moe_parameters(const Config& c) {
  return router_parameters(c) + Count(c.experts.count) * matrices_of(c, Part::expert) + matrices_of(c, Part::shared_expert);
}

/// Parameters that are no matrices, in the whole model: norms, biases, and a router's bias.
constexpr Count vector_parameters(const Config& c) {
  const Count router_bias = c.experts.score_bias ? c.experts.count : 0;
  return Count(c.n_layers) * (layer_norms(c) + attention_biases(c)) + dense_layers(c) * mlp_biases(c) + expert_layers(c) * router_bias +
         final_norm_parameters(c);
}

/// `active`: those that one token passes, else all.
constexpr Count total_parameters(const Config& c, bool active = false) {
  Count sum = vector_parameters(c);
  for_each_matrix(c, [&](const MatrixKind& kind) { sum = sum + kind.each() * kind.layers * (active ? kind.active : kind.copies); });
  return sum;
}

}  // namespace detail

/// Parameters of a model and of its parts. A tied head counts once, in `embedding`; `head` is then 0.
/// The figures of a layer hold for one layer that has the part: mlp_per_layer and block for a layer with a dense MLP, those with moe or
/// experts for a layer with experts. They are 0 when the model has no such layer.
struct ParameterCount {
  std::int64_t embedding = 0;
  std::int64_t positions = 0;            // learned positions, max_seq_len x d_model
  std::int64_t attention_per_layer = 0;  // projections with their biases
  std::int64_t mlp_per_layer = 0;
  std::int64_t router_per_layer = 0;          // of a mixture of experts
  std::int64_t expert = 0;                    // one routed expert
  std::int64_t shared_experts_per_layer = 0;  // all shared experts together, with their gate
  std::int64_t moe_per_layer = 0;             // router, all experts, shared experts
  std::int64_t norms_per_layer = 0;           // the block's norms, gains of QK-norm and of latents
  std::int64_t block = 0;                     // attention, MLP and norms
  std::int64_t moe_block = 0;                 // attention, experts and norms
  std::int64_t dense_layers = 0;              // how many layers are of the first kind
  std::int64_t moe_layers = 0;                // and of the second
  std::int64_t blocks = 0;                    // all layers
  std::int64_t final_norm = 0;                // 0 for post-norm, which has none
  std::int64_t head = 0;
  std::int64_t total = 0;
  std::int64_t active = 0;  // that one token passes: of the routed experts only the chosen ones

  friend constexpr bool operator==(const ParameterCount&, const ParameterCount&) = default;
};

/// How many parameters a model of this config has. Throws ConfigError when the count exceeds 63 bits.
constexpr ParameterCount parameter_count(const Config& c) {
  using detail::Count, detail::Part;
  ParameterCount n;
  n.total = detail::exact(detail::total_parameters(c), "llm::parameter_count");
  n.active = detail::total_parameters(c, true).value;
  n.embedding = detail::matrices_of(c, Part::embedding).value;
  n.positions = detail::matrices_of(c, Part::positions).value;
  n.attention_per_layer = detail::attention_parameters(c).value;
  n.norms_per_layer = detail::layer_norms(c).value;
  n.dense_layers = detail::dense_layers(c).value;
  n.moe_layers = detail::expert_layers(c).value;
  if (n.dense_layers > 0) {
    n.mlp_per_layer = detail::mlp_parameters(c).value;
    n.block = n.attention_per_layer + n.mlp_per_layer + n.norms_per_layer;
  }
  if (n.moe_layers > 0) {
    n.router_per_layer = detail::router_parameters(c).value;
    n.expert = detail::matrices_of(c, Part::expert).value;
    n.shared_experts_per_layer = detail::matrices_of(c, Part::shared_expert).value;
    n.moe_per_layer = detail::moe_parameters(c).value;
    n.moe_block = n.attention_per_layer + n.moe_per_layer + n.norms_per_layer;
  }
  n.blocks = n.dense_layers * n.block + n.moe_layers * n.moe_block;
  n.final_norm = detail::final_norm_parameters(c).value;
  n.head = detail::matrices_of(c, Part::head).value;
  return n;
}

}  // namespace llm
