// LLM: a language model as a type.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <llm/autograd/recompute.hpp>
#include <llm/model/account.hpp>
#include <llm/model/kv_cache.hpp>
#include <llm/model/layers.hpp>
#include <llm/model/rules.hpp>
#include <llm/nn/stored_parameter.hpp>
#include <llm/ops/head_loss.hpp>
#include <llm/ops/head_loss_stored.hpp>

namespace llm {

/// How a loss is computed: `{.denominator = targets, .recompute = true}`. The first three fields are those of LossOptions.
struct TrainingOptions {
  std::int64_t ignore_index = LossOptions{}.ignore_index;
  std::int64_t denominator = LossOptions{}.denominator;
  std::int64_t chunk_bytes = LossOptions{}.chunk_bytes;
  bool recompute = false;                // keep only each block's input and run the block again in backward
  const Documents* documents = nullptr;  // packed documents that do not see each other; see operator()
  LossParts* parts = nullptr;            // filled with what the loss is the sum of
  bool router_losses = true;             // false: without what Config::router_losses() adds, as for validation

  LossOptions loss() const { return {ignore_index, denominator, chunk_bytes}; }
};

namespace detail {
template <class Ids, class Other>
inline constexpr bool takes_ids = std::is_convertible_v<const Other&, Ids>;

/// Whether Cache is one that a model of config C can append to.
template <class Cache, const Config& C, class Backend>
inline constexpr bool cache_of = false;
template <const Config& C, class KV, class Backend>
inline constexpr bool cache_of<KvCache<C, KV, Backend>, C, Backend> = true;
}  // namespace detail

/// A decoder-only transformer whose whole wiring follows from one Config. C must have static storage: `inline constexpr Config`.
/// Weights: Trainable<T> with T float, double or bf16, or Frozen, for inference: matrices in any storage format, activations in f32; a loss
/// of it is a number without gradients. Backend: Cpu, or Reference (plain loops).
/// Move-only; clone() copies. A const model may be used by many threads at once, each with a cache of its own; its gradients are one set,
/// so one thread at a time runs backward.
/// Ids are [B, T]; logits [B, T, V].
template <const Config& C, class Weights = Trainable<float>, class Backend = Cpu>
class LLM {
  static constexpr bool frozen = detail::frozen_weights<Weights>;
  static_assert(frozen || detail::trainable_weights<Weights>,
                "llm::LLM<config, Weights, Backend>: Weights must be llm::Trainable<T> with T float, double or llm::bf16, or llm::Frozen");

 public:
  using P = Parts<C, Weights, Backend>;
  using T = typename Weights::value_type;
  static constexpr std::int64_t V = C.vocab_size, D = C.d_model, L = C.n_layers;
  static constexpr const Config& config = C;
  static constexpr std::int64_t parameter_count = llm::parameter_count(C).total;
  static constexpr bool router_losses = !frozen && C.router_losses();

  using backend_type = Backend;
  using weights_type = Weights;
  using Ids = Tensor<Token, Shape<dyn, dyn>, Backend>;
  using Hidden = Tensor<T, Shape<dyn, dyn, D>, Backend>;
  using Logits = Tensor<T, Shape<dyn, dyn, V>, Backend>;
  using LastLogits = Tensor<T, Shape<dyn, V>, Backend>;
  using Loss = Tensor<compute_t<T>, Shape<>, Backend>;
  using Cache = KvCache<C, T, Backend>;
  using View = std::conditional_t<frozen, StoredParameterView<Backend>, ParameterView<T, Backend>>;
  using ConstView = std::conditional_t<frozen, ConstStoredParameterView<Backend>, ConstParameterView<T, Backend>>;

  /// Matrices N(0, 0.02), those that write into the residual stream N(0, 0.02 / sqrt(2 L)), gains 1, biases 0.
  /// The same numbers for a seed on any number of threads; a frozen model has them in f32. Source: GPT-2.
  static LLM random(std::uint64_t seed);
  /// Elements to be filled by the caller; a frozen model has no matrices until then, and its use throws ShapeError.
  static LLM uninitialised() { return LLM(); }
  /// A model with weights of its own. The matrices of a frozen one, which nothing changes, are shared.
  LLM clone() const;
  LLM(LLM&&) noexcept = default;
  LLM& operator=(LLM&&) noexcept = default;

  /// What stands in the residual stream: 0 is the embedding, i what block i (from 1) makes of it, and the last, in pre-norm models, what
  /// the final norm makes.
  static constexpr std::int64_t hidden_count = L + (C.norm_position == NormPosition::post ? 1 : 2);
  /// Hidden states [B, T, D] that a pass is asked to keep, one for each of `layers`, 0 to hidden_count - 1.
  struct HiddenStates {
    std::vector<std::int64_t> layers;
    std::vector<Hidden> states = {};
  };

  /// Logits of every position. Throws ShapeError beyond max_seq_len, ValueError for an id outside [0, V).
  Logits operator()(const Ids& ids) const;
  /// The same for packed documents that do not see each other. Rotary positions go on, as only their differences count; learned ones begin
  /// anew in each document.
  Logits operator()(const Ids& ids, const Documents& documents) const;
  /// Appends the ids to rows first_row .. first_row + B - 1 of the cache; logits of the new positions, and their hidden states if asked.
  template <class KV>
  Logits operator()(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row = 0, HiddenStates* hidden = nullptr) const;
  /// The same, but only the last position's logits [B, V]: prefill and decode.
  template <class KV>
  LastLogits last_logits(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row = 0, HiddenStates* hidden = nullptr) const;
  /// Anything that is no [B, T] tensor of token ids on the model's backend.
  template <class Other, class... Rest>
  requires(!std::is_convertible_v<const Other&, Ids>) Logits operator()(const Other&, Rest&&...) const {
    static_assert(detail::takes_ids<Ids, Other>,
                  "llm::LLM::operator()(ids [B, T], cache): ids must be a rank-2 tensor of llm::Token on the model's backend (hint: "
                  "Model::Ids::from(tokens, {1, count}) makes one of a vector)");
    return {};
  }
  /// A cache that is const or of another config or backend.
  template <class Other>
  requires(!detail::cache_of<Other, C, Backend> && !std::is_same_v<std::remove_const_t<Other>, Documents>) Logits operator()(
      const Ids&, Other&, std::int64_t = 0, HiddenStates* = nullptr) const {
    static_assert(detail::cache_of<Other, C, Backend>,
                  "llm::LLM::operator()(ids [B, T], cache): the cache must be a llm::KvCache of the model's config and backend, as "
                  "Model::Cache is, and not const");
    return {};
  }
  template <class Other>
  requires(!detail::cache_of<Other, C, Backend>) LastLogits last_logits(const Ids&, Other&, std::int64_t = 0, HiddenStates* = nullptr)
  const {
    static_assert(detail::cache_of<Other, C, Backend>,
                  "llm::LLM::last_logits(ids [B, T], cache): the cache must be a llm::KvCache of the model's config and backend, as "
                  "Model::Cache is, and not const");
    return {};
  }
  /// All hidden states of ids [B, T].
  std::vector<Hidden> hidden_states(const Ids& ids) const;
  /// Those of `layers` alone; no block behind the last of them is computed. Throws ValueError for a layer outside [0, hidden_count).
  std::vector<Hidden> hidden_states(const Ids& ids, std::span<const std::int64_t> layers) const;

  /// Mean cross-entropy in nats of inputs [B, T] against aligned targets [B, T]. Targets equal to ignore_index (-100) count for
  /// nothing. For labels that are the ids themselves see shift_labels.
  /// With Config::router_losses() a trainable model adds experts.router_aux_loss_coef and router_z_loss_coef times the routers' losses over
  /// all tokens, as transformers does with output_router_logits; options.parts tells them apart. With a denominator, that of several
  /// batches, each batch's router losses count with its share of the targets.
  Loss loss(const Ids& inputs, const Ids& targets, const TrainingOptions& options = {}) const;
  /// Anything that is no pair of [B, T] tensors of token ids.
  template <class Inputs, class Targets, class... Rest>
  Loss loss(const Inputs&, const Targets&, const Rest&...) const;

  /// Calls f(View&) for every parameter once, tied ones too, in a fixed order.
  template <class F>
  void for_each_parameter(F&& f);
  /// The same with views that change nothing: f(const ConstView&).
  template <class F>
  void for_each_parameter(F&& f) const;

 private:
  using RopeType = RopeTables<C.rope_width(), Backend>;
  using Table = Embedding<V, D, typename Weights::element_type, Backend>;
  using HeadMatrix = typename Table::Table;
  /// The tables of layers with a window, where those have their own.
  static constexpr bool own_window_rope = C.rotary() && C.sliding_window > 0 && C.rope_theta_window > 0.0;
  using WindowRope = std::conditional_t<own_window_rope, RopeType, typename P::None>;

  LLM();
  static void initialise(T* data, const ParameterFacts& p, std::uint64_t seed, std::uint64_t stream);
  template <class F>
  void visit(F&& f) const;
  template <class Block, class F>
  static void visit_block(const Block& block, std::int64_t i, F& f);
  static void check_length(const Ids& ids);
  Hidden embed(const Ids& ids, std::span<const std::int64_t> starts, const Documents& documents = {}) const;
  Hidden final_norm(const Hidden& x) const;
  Hidden run(const Ids& ids, bool recompute_blocks, const Documents& documents = {}, const RouterLog& routers = {}) const;
  Loss cross_entropy(const Ids& inputs, const Ids& targets, const TrainingOptions& options, const RouterLog& routers) const;
  Loss loss_with_routers(const Ids& inputs, const Ids& targets, const TrainingOptions& options) const;
  template <class KV, class Head>
  auto run(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row, HiddenStates* hidden, Head&& head) const;
  static void check_layers(std::span<const std::int64_t> layers);
  static void keep(HiddenStates* hidden, std::int64_t layer, const Hidden& x);
  const HeadMatrix& head_weight() const;
  const RopeType& rope_of(std::int64_t layer) const;

  Table embed_tokens_;
  [[no_unique_address]] typename P::PositionTable embed_positions_;
  std::unique_ptr<Layers<C, Weights, Backend>> layers_;  // on the heap: a model fits any stack
  [[no_unique_address]] typename P::FinalNorm norm_;
  [[no_unique_address]] typename P::Head lm_head_;
  RopeType rope_;
  [[no_unique_address]] WindowRope window_rope_;
};

namespace detail {
/// Always false; named so that the compiler prints the types.
template <class... Arguments>
inline constexpr bool loss_arguments = false;
}  // namespace detail

/// Targets for labels that are the ids themselves: targets[b, t] = labels[b, t + 1], and `ignore` at the last position.
template <class Backend>
Tensor<Token, Shape<dyn, dyn>, Backend> shift_labels(const Tensor<Token, Shape<dyn, dyn>, Backend>& labels, Token ignore = -100) {
  std::vector<Token> values = labels.to_vector();
  const auto length = static_cast<std::size_t>(labels.extent(1));
  for (std::size_t row = 0; row + length <= values.size() && length > 0; row += length) {
    for (std::size_t t = row; t + 1 < row + length; ++t) values[t] = values[t + 1];
    values[row + length - 1] = ignore;
  }
  return Tensor<Token, Shape<dyn, dyn>, Backend>::from(values, labels.shape());
}

}  // namespace llm

#include <llm/model/broken_llm.hpp>
#include <llm/model/llm_impl.hpp>
