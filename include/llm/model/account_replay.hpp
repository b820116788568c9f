// The accountant's replay of a model's passes: what each layer takes from the storage pool and gives back, in the order of the layers'
// code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <llm/core/dtype.hpp>
#include <llm/model/account_ledger.hpp>
#include <llm/model/config.hpp>

namespace llm::detail {

/// Replays passes of a decoder over `batch` sequences of `length` positions. Each function stands for the layer or op of its name and
/// leaves behind what lives when that returns: a forward the result and, while a tape records, what ops save; a backward the gradient of
/// its input. `d_y` is the gradient of an op's output, which is dropped when the op's backward has used it.
class Replay {
  // The templates stand before the functions that call them: clang evaluates calls only of what is defined by then.
  /// What the part does for a layer of one kind, by itself.
  template <class Part>
  constexpr Ledger alone(bool sparse, const Part& part) {
    const Ledger before = std::exchange(ledger_, Ledger());
    sparse_ = sparse;
    part();
    return std::exchange(ledger_, before);
  }
  /// Runs the part for each layer, or from the last to the first. Layers of a kind are alike, so that one of each is replayed: dense ones,
  /// then periods of dense ones and one with experts, then the rest of a period.
  template <class Part>
  constexpr void each_layer(bool backward, const Part& part) {
    const Ledger dense = alone(false, part);
    const std::int64_t periods = expert_layers(c_).value;
    if (periods == 0) return ledger_.append(dense, c_.n_layers);
    const Ledger sparse = alone(true, part);
    const std::int64_t first = c_.experts.first_dense, rest = c_.n_layers - first - periods * c_.experts.every;
    Ledger period;
    if (backward) period.append(sparse, 1);
    period.append(dense, c_.experts.every - 1);
    if (!backward) period.append(sparse, 1);
    ledger_.append(dense, backward ? rest : first);
    ledger_.append(period, periods);
    ledger_.append(dense, backward ? first : rest);
  }

 public:
  constexpr Replay(const Config& config, DType type, Count batch, Count length)
      : c_(config),
        element_(block_format(type).bytes),
        statistic_(type == DType::f64 ? 8 : 4),
        rows_(batch * length),
        batch_(batch),
        ids_(rows_ * 4),
        hidden_(rows_ * config.d_model * element_),
        q_(rows_ * q_width(config) * element_),
        kv_(rows_ * kv_width(config) * element_),
        routed_{config.experts.count, config.experts.active, config.expert_ffn_dim()},
        shared_{1, 1, config.experts.shared_ffn_dim} {}

  /// loss(inputs, targets), backward(loss), with a new tape.
  constexpr void training_step(bool recompute, std::int64_t chunk_bytes) {
    recording_ = true;
    ledger_.take(ids_ + ids_);  // inputs and targets
    ledger_.take(router_log());
    embedding();
    each_layer(false, [&] { recompute ? block_forgotten() : block(); });
    if (has_final_norm()) norm(rows_, c_.d_model);
    head_loss(chunk_bytes);
    ledger_.give(hidden_);  // its input
    if (has_final_norm()) {
      norm_backward(rows_, c_.d_model, false);
      ledger_.give(hidden_);  // x
    }
    each_layer(true, [&] {
      recompute ? block_again_backward() : block_backward();
      ledger_.give(hidden_);  // the block's input
    });
    embedding_backward();
    ledger_.give(statistic_ + statistic_);  // the loss, and its gradient 1
    ledger_.give(router_log());
    ledger_.give(ids_ + ids_);
  }

  /// last_logits(ids, cache): prefill, or with a length of 1 a step of decoding. Nothing is saved.
  constexpr void last_logits() {
    ledger_.take(ids_);
    embedding();
    each_layer(false, [&] {
      block();
      ledger_.give(hidden_);  // the block's input
    });
    const Count last = batch_ * c_.d_model * element_, logits = batch_ * c_.vocab_size * element_;
    if (has_final_norm()) norm(rows_, c_.d_model);
    ledger_.take(last);
    ledger_.take(logits);
    ledger_.give(last + logits + ids_ + (has_final_norm() ? hidden_ + hidden_ : hidden_));
  }

  /// Gradients of all parameters are there already, from an earlier backward. A router's bias gets none.
  constexpr void accumulate() {
    const Count biases = c_.experts.score_bias ? expert_layers(c_) * c_.experts.count : Count();
    ledger_.gradient(Count(total_parameters(c_).value - biases.value) * statistic_);
    accumulates_ = true;
  }

  constexpr const Ledger& ledger() const { return ledger_; }

 private:
  constexpr bool post() const { return c_.norm_position == NormPosition::post; }
  constexpr bool has_final_norm() const { return !post(); }
  constexpr bool norms_input() const { return c_.norm_position == NormPosition::pre || c_.norm_position == NormPosition::sandwich; }
  constexpr bool norms_result() const { return c_.norm_position == NormPosition::branch || c_.norm_position == NormPosition::sandwich; }

  /// Gives back what an op would have saved, when no tape records.
  constexpr void give_unsaved(Count bytes) {
    if (!recording_) ledger_.give(bytes);
  }
  /// The gradient of a parameter with so many elements, in the compute type.
  constexpr void gradient(Count elements) {
    if (!accumulates_) ledger_.gradient(elements * statistic_);
  }

  constexpr void embedding() {
    ledger_.take(hidden_);
    if (c_.position != Position::learned) return;
    ledger_.take(ids_);            // the positions on the host
    ledger_.take(ids_);            // as a tensor
    ledger_.take(hidden_);         // their embedding
    ledger_.give(hidden_ + ids_);  // the sum stands in the positions' memory
    give_unsaved(ids_);
  }
  constexpr void embedding_backward() {
    if (c_.position == Position::learned) {
      gradient(Count(c_.max_seq_len) * c_.d_model);
      ledger_.give(ids_);  // the positions
    }
    if (!c_.tie_embeddings) gradient(Count(c_.vocab_size) * c_.d_model);
    ledger_.give(hidden_);  // d_y
  }

  constexpr Count statistics(Count count) const { return count * statistic_ * (c_.norm == Norm::layer_norm ? 2 : 1); }

  /// `count` vectors of a width. Saves its input and a statistic of each, for LayerNorm two.
  constexpr void norm(Count count, Count width) {
    ledger_.take(count * width * element_);
    if (recording_) ledger_.take(statistics(count));
  }
  /// `adds`: the input has a gradient already, else it gets the memory of d_y. `copy`: d_y is shared, so that the gradient takes memory.
  constexpr void norm_backward(Count count, Count width, bool adds, bool copy = false) {
    if (copy) ledger_.take(count * width * element_);
    gradient(width);
    if (c_.norm == Norm::layer_norm) gradient(width);
    ledger_.give(statistics(count));
    if (adds) ledger_.give(count * width * element_);  // d_y
  }

  /// x [R, in] -> [R, out]. Saves x. `d_x`: bytes of the input's gradient, 0 when it has one already; `d_y`: of the output's, 0 when
  /// another tensor shares it (the two terms of a sum).
  constexpr void linear_backward(Count in, Count out, bool bias, Count d_x, Count d_y) {
    if (bias) gradient(out);
    gradient(in * out);
    ledger_.take(d_x);
    ledger_.give(d_y);
  }

  /// x -> y, both [R, D]. x and, while recording, the saved tensors are the caller's to give back.
  constexpr void attention() {
    ledger_.take(q_);
    ledger_.take(kv_ + kv_);
    if (c_.qk_norm) {
      head_norm(c_.n_heads);
      give_unsaved(q_);
      head_norm(c_.kv_heads());
      give_unsaved(kv_);
    }
    ledger_.take(q_);  // the heads' results
    if (recording_) ledger_.take(log_sum_exp());
    ledger_.take(hidden_);  // o_proj
    give_unsaved(q_ + kv_ + kv_ + q_);
  }
  /// Head by head, or over all of them.
  constexpr void head_norm(std::int64_t heads) { c_.qk_norm_joint ? norm(rows_, joint(heads)) : norm(rows_ * heads, c_.head_width()); }
  constexpr void head_norm_backward(std::int64_t heads) {
    c_.qk_norm_joint ? norm_backward(rows_, joint(heads), false) : norm_backward(rows_ * heads, c_.head_width(), false);
  }
  constexpr Count joint(std::int64_t heads) const { return Count(heads) * c_.head_width(); }
  constexpr Count log_sum_exp() const { return rows_ * c_.n_heads * statistic_; }

  /// `d_x`: bytes of the input's gradient, 0 when it has one already; `d_y` as for linear_backward.
  constexpr void attention_backward(Count d_x, Count d_y) {
    linear_backward(q_width(c_), c_.d_model, c_.attention_out_bias, q_, d_y);  // o_proj
    ledger_.take(q_ + kv_ + kv_);                                              // d_q, d_k, d_v
    ledger_.give(q_);                                                          // d_y
    ledger_.give(q_ + kv_ + kv_ + q_ + log_sum_exp());                         // q, k, v, y
    if (c_.qk_norm) {
      head_norm_backward(c_.kv_heads());
      ledger_.give(kv_);  // k before its norm
      head_norm_backward(c_.n_heads);
      ledger_.give(q_);
    }
    linear_backward(c_.d_model, kv_width(c_), c_.qkv_bias, d_x, kv_);  // v_proj
    linear_backward(c_.d_model, kv_width(c_), c_.qkv_bias, 0, kv_);    // k_proj
    linear_backward(c_.d_model, q_width(c_), c_.qkv_bias, 0, q_);      // q_proj
  }

  /// x -> y, both [R, D], as attention(), `width` wide inside.
  constexpr void mlp(std::int64_t width) {
    const Count values = rows_ * width * element_, inside = c_.gated() ? values + values : values;  // gate and up, or up
    ledger_.take(inside);
    ledger_.take(values);   // their product, or its activation
    ledger_.take(hidden_);  // down_proj
    ledger_.give(values);
    give_unsaved(inside);
  }
  constexpr void mlp_backward(std::int64_t width, Count d_x, Count d_y = Count()) {
    const Count values = rows_ * width * element_;
    ledger_.take(values);  // the gradient of down_proj's input, then that input; gradients of gate and up are written over their values
    linear_backward(width, c_.d_model, c_.mlp_bias, Count(0), Count(0));  // down_proj
    ledger_.give(values + d_y);
    linear_backward(c_.d_model, width, c_.mlp_bias, d_x, values);  // up_proj
    if (c_.gated()) linear_backward(c_.d_model, width, c_.mlp_bias, 0, values);
  }

  /// Experts behind one router. None of their buffers depends on what is chosen.
  struct Bank {
    std::int64_t count, active, width;
  };
  constexpr Count logits(const Bank& b) const { return rows_ * b.count * element_; }
  /// What RouterLog holds.
  constexpr Count router_log() const {
    if (!c_.router_losses()) return 0;
    return (expert_layers(c_) * (Count(2) * c_.experts.count + 1) + c_.experts.count + 5) * statistic_;
  }
  constexpr Count choices(const Bank& b) const { return rows_ * b.active; }
  constexpr Count inner(const Bank& b) const { return choices(b) * b.width * element_; }
  /// The order of the choices, their places, and where each expert's begin.
  constexpr Count sorted(const Bank& b) const { return choices(b) * 8 + (Count(b.count) + 1) * 8; }

  /// x -> y, both [R, D], as attention().
  constexpr void experts(const Bank& b) {
    const Count rows = choices(b) * c_.d_model * element_;
    ledger_.take(logits(b));
    ledger_.take(choices(b) * 4 + choices(b) * statistic_);  // which, and their weights
    ledger_.take(sorted(b) + inner(b) + inner(b) + rows);    // gate and up, rows of x and then of results
    ledger_.take(inner(b));                                  // gate and up's product
    ledger_.take(hidden_);
    ledger_.give(rows + inner(b));
    give_unsaved(logits(b) + choices(b) * 4 + choices(b) * statistic_ + sorted(b) + inner(b) + inner(b));
  }
  constexpr void experts_backward(const Bank& b, Count d_x, Count d_y = Count()) {
    const Count rows = choices(b) * c_.d_model * element_, weights = choices(b) * statistic_, matrices = Count(b.count) * b.width;
    ledger_.take(rows + inner(b) + inner(b));  // of d_y, the gradient of the product, and the product
    ledger_.take(weights);                     // their gradient
    gradient(matrices * c_.d_model);           // of down_proj
    ledger_.give(inner(b) + inner(b));
    ledger_.take(d_x);
    gradient(matrices * c_.d_model * 2);
    ledger_.give(d_y + rows + inner(b) + inner(b) + sorted(b) + weights);  // gate, up, what was sorted, the weights
    ledger_.take(logits(b));                                               // their gradient
    ledger_.give(weights + logits(b) + choices(b) * 4);
    linear_backward(c_.d_model, b.count, false, 0, logits(b));  // the router
  }

  /// What stands in the place of the MLP: x -> y, as attention().
  constexpr void feed_forward() {
    if (!sparse_) return mlp(c_.ffn_dim);
    experts(routed_);
    if (c_.experts.shared_ffn_dim == 0) return;
    c_.experts.shared_gate ? experts(shared_) : mlp(c_.experts.shared_ffn_dim);
    ledger_.give(hidden_);  // the routed experts' result; the sum is written over the other
  }
  constexpr void feed_forward_backward(Count d_x, Count d_y) {
    if (!sparse_) return mlp_backward(c_.ffn_dim, d_x, d_y);
    if (c_.experts.shared_ffn_dim == 0) return experts_backward(routed_, d_x, d_y);
    // With post-norm d_y is also the gradient that x has already: as long as the routed experts need it, the shared ones add to a copy.
    if (post()) d_x = d_y = hidden_;
    c_.experts.shared_gate ? experts_backward(shared_, d_x) : mlp_backward(c_.experts.shared_ffn_dim, d_x);
    experts_backward(routed_, Count(), d_y);
  }

  /// x + f(norm(x)), norm(x + f(x)), x + norm(f(x)) or x + norm(f(norm(x))).
  template <class F>
  constexpr void branch(const F& f) {
    if (norms_input()) norm(rows_, c_.d_model);
    f();  // the sum is written over its result
    if (post()) norm(rows_, c_.d_model);
    if (norms_result()) {  // or over that of its norm
      norm(rows_, c_.d_model);
      give_unsaved(hidden_);  // f's result
    }
    if (norms_input() || post()) give_unsaved(hidden_);  // the input of f, or of the norm; an expression's intermediates live to its end
  }
  /// f(bytes of its input's gradient, those of d_y unless the residual stream shares it).
  template <class F>
  constexpr void branch_backward(const F& f) {
    if (post()) {
      norm_backward(rows_, c_.d_model, false);
      ledger_.give(hidden_);  // x + f(x)
    }
    if (norms_result()) {
      norm_backward(rows_, c_.d_model, false, true);
      ledger_.give(hidden_);  // f(x)
    }
    f(norms_input() ? hidden_ : Count(), norms_result() ? hidden_ : Count());
    if (norms_input()) {
      ledger_.give(hidden_);  // norm(x)
      norm_backward(rows_, c_.d_model, true);
    }
  }

  /// x -> y, both [R, D]; x is the caller's to give back.
  constexpr void block() {
    branch([&] { attention(); });
    branch([&] { feed_forward(); });
    give_unsaved(hidden_);                                          // the first branch's result
    if (recording_ && c_.parallel_residual) ledger_.give(hidden_);  // which nothing needs when the second starts from x, too
  }
  constexpr void block_backward() {
    branch_backward([&](Count d_x, Count d_y) { feed_forward_backward(d_x, d_y); });
    if (!c_.parallel_residual) ledger_.give(hidden_);  // the first branch's result
    branch_backward([&](Count d_x, Count d_y) { attention_backward(d_x, d_y); });
  }

  /// recompute(block, x): a pass that saves nothing but x.
  constexpr void block_forgotten() {
    recording_ = false;
    block();
    recording_ = true;
  }
  constexpr void block_again_backward() {
    block();                // y again, and what its ops save
    ledger_.take(hidden_);  // a copy of d_y, for the block's own tape
    block_backward();
    ledger_.give(hidden_ + hidden_);  // y, and d_y: d_x is in the copy's memory
  }

  /// Head and loss, forward and, as nothing comes between them, backward. Leaves the gradient of its input.
  constexpr void head_loss(std::int64_t chunk_bytes) {
    const Count row = Count(c_.vocab_size) * element_;
    const std::int64_t fit = chunk_bytes / (std::max)(row.value, std::int64_t{1});
    const std::int64_t chunk = (std::clamp)(fit, std::int64_t{1}, (std::max)(rows_.value, std::int64_t{1}));
    const bool kept = chunk >= rows_.value;
    const Count logits = row * chunk, losses = rows_ * statistic_;
    ledger_.take(losses + losses);  // and the log-sum-exp of each row
    ledger_.take(logits);
    ledger_.take(statistic_);  // the loss
    ledger_.give(losses);
    if (!kept) ledger_.give(logits);
    if (c_.router_losses()) {
      ledger_.take(statistic_);  // the sum with the routers' losses
      ledger_.give(statistic_);  // the cross-entropy
    }
    ledger_.take(statistic_ + statistic_);  // 1 = d_loss, and the tape's copy
    gradient(Count(c_.vocab_size) * c_.d_model);
    ledger_.take(hidden_);  // d_x
    if (!kept) ledger_.take(logits);
    ledger_.give(logits + losses + statistic_);
  }

  const Config& c_;
  Count element_, statistic_;    // bytes of an element, and of a statistic or a parameter's gradient in the compute type
  Count rows_, batch_;           // R = B T
  Count ids_, hidden_, q_, kv_;  // bytes of tensors with R rows: a token, D, H E, K E
  Bank routed_, shared_;
  bool recording_ = false, accumulates_ = false, sparse_ = false;
  Ledger ledger_;
};

}  // namespace llm::detail
