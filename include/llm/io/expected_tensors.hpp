// Which tensors a checkpoint of a config and a family must hold: names and shapes, one by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/tensor_naming.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config.hpp>

namespace llm {

/// A tensor that a file of a model holds, or may hold.
struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major, as the format's own readers see it; for GGUF the last extent is the contiguous one
  std::string copy_of;              // not empty: may be absent, and is an equal copy of that tensor where present (a tied head)

  friend bool operator==(const ExpectedTensor&, const ExpectedTensor&) = default;
};

/// What files of one family may choose: how they are recognised is layout_of's matter (tensor_check.hpp).
struct TensorLayout {
  TensorNames names = TensorNames::hugging_face;
  bool bare = false;          // without the prefix of the language model's class ("transformer.", "model."), as base classes are saved
  bool stacked = false;       // experts of a layer in one tensor, as transformers 5 has them in memory
  bool split_latent = false;  // GGUF: latent attention's kv_b apart for keys and values, head by head, as written since 2025
};

namespace detail {

/// The names in files of one family and layout.
constexpr TensorNaming naming_of(Family family, const TensorLayout& layout) {
  TensorNaming n = naming_of(family, layout.names);
  if (layout.bare) n.prefix = "";
  if (!layout.stacked || layout.names != TensorNames::hugging_face) return n;
  if (family == Family::mixtral) n.router = "mlp.gate";
  n.stacked_gate_up = "mlp.experts.gate_up_proj", n.stacked_down = "mlp.experts.down_proj";
  return n;
}

/// Calls f(ExpectedTensor) for each tensor. Nothing is kept, so that the list of a hostile config costs no memory.
template <class F>
class TensorWalk {
 public:
  TensorWalk(const Config& config, Family family, TensorLayout layout, F& f)
      : c_(config), family_(family), layout_(layout), n_(naming_of(family, layout)), f_(f) {}

  void operator()() {
    const std::string embedding = concat(n_.prefix, n_.embedding);
    put(embedding, {c_.vocab_size, c_.d_model});
    if (c_.position == Position::learned) put(concat(n_.prefix, known(n_.positions, "positions")), {c_.max_seq_len, c_.d_model});
    for (std::int64_t i = 0; i < c_.n_layers; ++i) layer(i);
    at_ = n_.prefix;
    if (c_.norm_position != NormPosition::post) norm(n_.final_norm, "a final norm");
    f_(ExpectedTensor{std::string(n_.head), {c_.vocab_size, c_.d_model}, c_.tie_embeddings ? embedding : std::string()});
  }

 private:
  void layer(std::int64_t i) {
    at_ = concat(n_.prefix, n_.layers, i, ".");
    norms();
    c_.latent_attention() ? latent_attention() : attention();
    linear(n_.o, c_.d_model, value_width(c_).value, c_.attention_out_bias);
    c_.expert_layer(i) ? experts() : mlp();
  }

  void norms() {
    const bool before = c_.norm_position != NormPosition::branch;
    const bool after = c_.norm_position == NormPosition::branch || c_.norm_position == NormPosition::sandwich;
    if (before) norm(n_.attention_norm, "a norm before attention"), norm(n_.mlp_norm, "a norm before the MLP");
    if (after) norm(n_.attention_post_norm, "a norm after attention"), norm(n_.mlp_post_norm, "a norm after the MLP");
  }

  void attention() {
    const std::int64_t q = c_.q_dim(), kv = c_.kv_dim();
    if (!n_.qkv.empty()) {
      linear(n_.qkv, q + 2 * kv, c_.d_model, c_.qkv_bias);
    } else {
      linear(n_.q, q, c_.d_model, c_.qkv_bias);
      linear(n_.k, kv, c_.d_model, c_.qkv_bias);
      linear(n_.v, kv, c_.d_model, c_.qkv_bias);
    }
    if (!c_.qk_norm) return;
    gain(known(n_.q_norm, "QK-norm"), c_.qk_norm_joint ? q : c_.head_width());
    gain(known(n_.k_norm, "QK-norm"), c_.qk_norm_joint ? kv : c_.head_width());
  }

  void latent_attention() {
    const auto& mla = c_.mla;
    if (mla.q_rank > 0) {
      linear(known(n_.q_a, "latent attention"), mla.q_rank, c_.d_model, false);
      gain(n_.q_a_norm, mla.q_rank);
      linear(n_.q_b, c_.q_dim(), mla.q_rank, false);
    } else {
      linear(n_.q, c_.q_dim(), c_.d_model, false);
    }
    linear(known(n_.kv_a, "latent attention"), mla.kv_rank + mla.rope_dim, c_.d_model, false);
    gain(n_.kv_a_norm, mla.kv_rank);
    if (layout_.split_latent) {
      put(concat(at_, "attn_k_b.weight"), {c_.n_heads, mla.kv_rank, mla.nope_dim});
      put(concat(at_, "attn_v_b.weight"), {c_.n_heads, mla.v_dim, mla.kv_rank});
    } else {
      linear(n_.kv_b, c_.n_heads * (mla.nope_dim + mla.v_dim), mla.kv_rank, false);
    }
  }

  void mlp() {
    if (c_.gated() && !n_.gate_up.empty()) {
      linear(n_.gate_up, 2 * c_.ffn_dim, c_.d_model, c_.mlp_bias);
    } else {
      if (c_.gated()) linear(known(n_.gate, "a gated MLP"), c_.ffn_dim, c_.d_model, c_.mlp_bias);
      linear(n_.up, c_.ffn_dim, c_.d_model, c_.mlp_bias);
    }
    linear(n_.down, c_.d_model, c_.ffn_dim, c_.mlp_bias);
  }

  void experts() {
    const auto& e = c_.experts;
    linear(known(n_.router, "experts"), e.count, c_.d_model, false);
    if (e.score_bias) put(concat(at_, known(n_.router_bias, "a router's bias")), {e.count});
    if (!n_.stacked_down.empty())
      stacked_experts();
    else
      for (std::int64_t j = 0; j < e.count; ++j)
        gated(concat(known(n_.experts, "experts"), j, "."), n_.expert_gate, n_.expert_up, n_.expert_down, c_.expert_ffn_dim());
    if (e.shared_ffn_dim > 0)
      gated(std::string(known(n_.shared, "shared experts")), n_.shared_gate_proj, n_.shared_up_proj, n_.shared_down_proj, e.shared_ffn_dim);
    if (e.shared_gate) shared_gate(known(n_.shared_router, "a gate of the shared experts"));
  }

  void shared_gate(std::string_view name) {
    put(concat(at_, name, ".weight"),
        layout_.names == TensorNames::gguf ? std::vector{c_.d_model} : std::vector{std::int64_t{1}, c_.d_model});
  }

  void stacked_experts() {
    const std::int64_t count = c_.experts.count, width = c_.expert_ffn_dim();
    if (!n_.stacked_gate_up.empty()) {
      put(concat(at_, n_.stacked_gate_up), {count, 2 * width, c_.d_model});
    } else {
      put(concat(at_, n_.stacked_gate), {count, width, c_.d_model});
      put(concat(at_, n_.stacked_up), {count, width, c_.d_model});
    }
    put(concat(at_, n_.stacked_down), {count, c_.d_model, width});
  }

  void gated(const std::string& before, std::string_view gate, std::string_view up, std::string_view down, std::int64_t width) {
    linear(before + std::string(gate), width, c_.d_model, false);
    linear(before + std::string(up), width, c_.d_model, false);
    linear(before + std::string(down), c_.d_model, width, false);
  }

  void linear(std::string_view name, std::int64_t out, std::int64_t in, bool bias) {
    put(concat(at_, name, ".weight"), n_.in_out ? std::vector{in, out} : std::vector{out, in});
    if (bias) put(concat(at_, name, ".bias"), {out});
  }
  void gain(std::string_view name, std::int64_t width) { put(concat(at_, name, ".weight"), {width}); }
  void norm(std::string_view name, const char* what) {
    gain(known(name, what), c_.d_model);
    if (c_.norm == Norm::layer_norm) put(concat(at_, name, ".bias"), {c_.d_model});
  }
  void put(std::string name, std::vector<std::int64_t> shape) { f_(ExpectedTensor{std::move(name), std::move(shape), {}}); }

  std::string_view known(std::string_view name, const char* what) const {
    if (name.empty()) throw ConfigError(concat("llm::expected_tensors: the family ", to_string(family_), " has no name for ", what));
    return name;
  }

  const Config& c_;
  Family family_;
  TensorLayout layout_;
  TensorNaming n_;
  F& f_;
  std::string at_;  // what all names of a layer begin with
};

/// Tensors of a model, in so far as their number matters: a bound for files.
inline Count tensor_count(const Config& c) {
  const Count experts = c.has_experts() ? Count(c.experts.count) * 3 + 8 : Count();
  return Count(c.n_layers) * (experts + 24) + 8;
}

inline constexpr std::int64_t max_expected_tensors = 1 << 20;  // ours; the largest published models have some 100,000

}  // namespace detail

/// Calls f(const ExpectedTensor&) for every tensor that a checkpoint of this model holds under its family's names: together they have
/// parameter_count(config).total elements, copies not counted. The config must be valid.
/// Throws ConfigError when the family has no name for a part of the config, and for more than 2^20 tensors.
template <class F>
void for_each_expected_tensor(const Config& config, Family family, TensorLayout layout, F&& f) {
  if (detail::tensor_count(config).value > detail::max_expected_tensors)
    throw ConfigError(detail::concat("llm::expected_tensors: ", config.n_layers, " layers with ", config.experts.count,
                                     " experts are more than ", detail::max_expected_tensors, " tensors"));
  detail::TensorWalk<F>(config, family, layout, f)();
}

/// The same as a list.
inline std::vector<ExpectedTensor> expected_tensors(const Config& config, Family family, TensorLayout layout = {}) {
  std::vector<ExpectedTensor> all;
  for_each_expected_tensor(config, family, layout, [&](const ExpectedTensor& tensor) { all.push_back(tensor); });
  return all;
}

}  // namespace llm
