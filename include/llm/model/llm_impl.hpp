// The members of LLM. They stand outside the class so that an explicit instantiation in one .cpp can own them (LLM_INSTANTIATE).
#pragma once

#include <cmath>
#include <utility>

#include <llm/model/llm.hpp>
#include <llm/ops/scale.hpp>
#include <llm/tensor/host_memory.hpp>

namespace llm {

template <const Config& C, class Weights, class Backend>
LLM<C, Weights, Backend>::LLM() : layers_(std::make_unique<Layers<C, Weights, Backend>>()) {
  const auto configure = [](auto& norm) {
    if constexpr (requires { norm.eps; }) norm.eps = C.norm_eps;
    if constexpr (requires { norm.rounding; }) norm.rounding = C.norm_rounding;
  };
  layers_->for_each([&](auto& block, std::int64_t i) {
    configure(block.attn_norm), configure(block.attn_result_norm);
    configure(block.mlp_norm), configure(block.mlp_result_norm);
    if constexpr (C.qk_norm) {
      configure(block.attn.q_norm);
      configure(block.attn.k_norm);
    }
    block.attn.window = C.windowed_layer(i) ? C.sliding_window : 0;
    block.attn.scale = C.attention_scale;
    if constexpr (requires { block.mlp.routed; }) block.mlp.routed.options = P::route;
  });
  if constexpr (!P::post_norm) configure(norm_);
  if constexpr (C.rotary()) rope_ = RopeType::build(C.max_seq_len, C.rope_theta, C.position == Position::rope_interleaved, C.rope_scaling);
  if constexpr (own_window_rope)
    window_rope_ = RopeType::build(C.max_seq_len, C.rope_theta_window, C.position == Position::rope_interleaved);
}

template <const Config& C, class Weights, class Backend>
LLM<C, Weights, Backend> LLM<C, Weights, Backend>::random(std::uint64_t seed) {
  LLM model;
  std::uint64_t stream = 0;
  model.for_each_parameter([&](View& p) {
    if constexpr (frozen) {
      auto values = Tensor<T, Shape<dyn>, Backend>::empty({p.numel()});
      initialise(values.data(), p, seed, stream++);
      const std::vector<T> host = values.to_vector();
      p.assign(DType::f32, std::as_bytes(std::span(host)));
    } else {
      initialise(p.tensor().data(), p, seed, stream++);
    }
  });
  return model;
}

template <const Config& C, class Weights, class Backend>
void LLM<C, Weights, Backend>::initialise(T* data, const ParameterFacts& p, std::uint64_t seed, std::uint64_t stream) {
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(L));
  switch (p.kind()) {
    case ParameterKind::matrix:
      return Backend::template fill_normal<T>(data, p.numel(), seed, stream, 0.02);
    case ParameterKind::residual_output:
      return Backend::template fill_normal<T>(data, p.numel(), seed, stream, residual);
    case ParameterKind::gain:
      return Backend::template fill<T>(data, p.numel(), 1.0);
    case ParameterKind::bias:
      return Backend::template fill<T>(data, p.numel(), 0.0);
  }
}

template <const Config& C, class Weights, class Backend>
LLM<C, Weights, Backend> LLM<C, Weights, Backend>::clone() const {
  LLM copy;
  std::vector<ConstView> mine;
  for_each_parameter([&](const ConstView& p) { mine.push_back(p); });
  std::size_t at = 0;
  copy.for_each_parameter([&](View& p) {
    const ConstView& from = mine[at++];
    if constexpr (frozen)
      p.assign(from);
    else
      Backend::template copy<T>(p.tensor().data(), from.tensor().data(), p.numel());
  });
  return copy;
}

template <const Config& C, class Weights, class Backend>
template <class F>
void LLM<C, Weights, Backend>::visit(F&& f) const {
  constexpr auto matrix = ParameterKind::matrix;
  f(View(embed_tokens_.weight, matrix, {-1, {"model", "embed_tokens", "weight"}}));
  if constexpr (C.position == Position::learned) f(View(embed_positions_.weight, matrix, {-1, {"model", "embed_positions", "weight"}}));
  layers_->for_each([&](const auto& block, std::int64_t i) { visit_block(block, i, f); });
  if constexpr (!P::post_norm)
    norm_.visit([&](const auto& tensor, ParameterKind kind, const char* leaf) { f(View(tensor, kind, {-1, {"model", "norm", leaf}})); });
  if constexpr (!C.tie_embeddings) f(View(lm_head_.weight, matrix, {-1, {"lm_head", "weight", ""}}));
}

template <const Config& C, class Weights, class Backend>
template <class Block, class F>
void LLM<C, Weights, Backend>::visit_block(const Block& block, std::int64_t i, F& f) {
  const auto norm = [&](const auto& layer, const char* name) {
    const auto each = [&](const auto& tensor, ParameterKind kind, const char* leaf) { f(View(tensor, kind, {i, {name, leaf, ""}})); };
    if constexpr (requires { layer.visit(each); }) layer.visit(each);
  };
  const auto inside = [&](const char* module, std::int64_t expert) {
    return [&f, i, module, expert](const auto& layer, ParameterKind matrix_kind, const char* name) {
      const auto each = [&](const auto& tensor, ParameterKind kind, const char* leaf) {
        f(View(tensor, kind, {i, {module, name, leaf}, expert}));
      };
      if constexpr (requires { layer.visit(each, matrix_kind); })
        layer.visit(each, matrix_kind);
      else
        layer.visit(each);
    };
  };
  norm(block.attn_norm, "input_layernorm");
  block.attn.visit(inside("self_attn", -1));
  norm(block.attn_result_norm, "attention_result_norm");
  norm(block.mlp_norm, "post_attention_layernorm");
  if constexpr (requires { block.mlp.visit_modules(inside); })
    block.mlp.visit_modules(inside);
  else
    block.mlp.visit(inside("mlp", -1));
  norm(block.mlp_result_norm, "mlp_result_norm");
}

template <const Config& C, class Weights, class Backend>
template <class F>
void LLM<C, Weights, Backend>::for_each_parameter(F&& f) {
  visit([&](View view) { f(view); });
}

template <const Config& C, class Weights, class Backend>
template <class F>
void LLM<C, Weights, Backend>::for_each_parameter(F&& f) const {
  visit([&](const ConstView& view) { f(view); });
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::head_weight() const -> const HeadMatrix& {
  if constexpr (C.tie_embeddings)
    return embed_tokens_.weight;
  else
    return lm_head_.weight;
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::rope_of([[maybe_unused]] std::int64_t layer) const -> const RopeType& {
  if constexpr (own_window_rope)
    if (C.windowed_layer(layer)) return window_rope_;
  return rope_;
}

template <const Config& C, class Weights, class Backend>
void LLM<C, Weights, Backend>::check_length(const Ids& ids) {
  if (ids.numel() == 0) throw ShapeError(detail::concat("llm::LLM: ids ", to_string(ids.shape()), " hold no token"));
  if (ids.extent(1) > C.max_seq_len)
    throw ShapeError(
        detail::concat("llm::LLM: ", ids.extent(1), " positions exceed max_seq_len ", C.max_seq_len, " (hint: raise Config::max_seq_len)"));
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::embed(const Ids& ids, std::span<const std::int64_t> starts,
                                     [[maybe_unused]] const Documents& documents) const -> Hidden {
  Hidden x = embed_tokens_(ids);  // [B, T, D]
  if constexpr (C.scale_embeddings)
    x = scale(std::move(x), static_cast<double>(static_cast<compute_t<T>>(T(std::sqrt(static_cast<compute_t<T>>(D))))));
  if constexpr (C.position == Position::learned) {
    const std::int64_t batch = ids.extent(0), time = ids.extent(1);
    const auto count = static_cast<std::size_t>(ids.numel());
    const auto staging = detail::Pool<HostMemory>::instance().allocate(count * sizeof(Token));
    auto* const positions = static_cast<Token*>(staging->data);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t t = 0; t < time; ++t)
        positions[b * time + t] = static_cast<Token>((starts.empty() ? 0 : starts[static_cast<std::size_t>(b)]) + t);
    for (std::int64_t i = 0; documents && i < documents.count(); ++i)
      for (std::int64_t at = documents.start(i); at < documents.start(i + 1); ++at)
        positions[at] = static_cast<Token>(at - documents.start(i));
    x = x + embed_positions_(Ids::from({positions, count}, ids.shape()));
  }
  return x;
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::final_norm(const Hidden& x) const -> Hidden {
  if constexpr (P::post_norm)
    return x;
  else
    return norm_(x);
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::run(const Ids& ids, [[maybe_unused]] bool recompute_blocks, const Documents& documents,
                                   [[maybe_unused]] const RouterLog& routers) const -> Hidden {
  check_length(ids);
  detail::require_documents_of(documents, ids.extent(0), ids.extent(1));
  Hidden x = embed(ids, {}, documents);
  [[maybe_unused]] std::int64_t router = 0;  // those of the layers before
  layers_->for_each([&](const auto& block, std::int64_t i) {
    Pass<C.rope_width(), T, Backend> pass{&rope_of(i), {}, {}, documents};
    if constexpr (C.has_experts())
      if (C.expert_layer(i)) pass.routers = routers.of_router(router++);
    const auto forward = [&block, pass](const Hidden& input) { return block(input, pass); };
    if constexpr (frozen)
      x = forward(x);  // without gradients there is nothing to save
    else
      x = recompute_blocks ? recompute(forward, x) : forward(x);
  });
  return final_norm(x);
}

template <const Config& C, class Weights, class Backend>
template <class KV, class Head>
auto LLM<C, Weights, Backend>::run(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row, HiddenStates* hidden,
                                   Head&& head) const {
  const NoTape inference_only;
  check_length(ids);
  if (hidden) {
    check_layers(hidden->layers);
    hidden->states.resize(hidden->layers.size());
  }
  const auto plan = cache.plan(first_row, ids.extent(0), ids.extent(1));
  const auto positions = cache.positions(plan);
  Hidden x = embed(ids, cache.lengths().subspan(static_cast<std::size_t>(first_row)));
  keep(hidden, 0, x);
  layers_->for_each([&](const auto& block, std::int64_t i) {
    x = block(x, Pass<C.rope_width(), KV, Backend>{&rope_of(i), positions, cache.layer(i, plan)});
    keep(hidden, i + 1, x);
  });
  x = final_norm(x);
  if constexpr (!P::post_norm) keep(hidden, L + 1, x);
  auto logits = head(x);
  cache.commit(plan);  // last: whatever throws leaves the cache as it was
  return logits;
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::operator()(const Ids& ids) const -> Logits {
  return linear(run(ids, false), head_weight());
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::operator()(const Ids& ids, const Documents& documents) const -> Logits {
  return linear(run(ids, false, documents), head_weight());
}

template <const Config& C, class Weights, class Backend>
template <class KV>
auto LLM<C, Weights, Backend>::operator()(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row,
                                          HiddenStates* hidden) const -> Logits {
  return run(ids, cache, first_row, hidden, [this](const Hidden& x) { return linear(x, head_weight()); });
}

template <const Config& C, class Weights, class Backend>
template <class KV>
auto LLM<C, Weights, Backend>::last_logits(const Ids& ids, KvCache<C, KV, Backend>& cache, std::int64_t first_row,
                                           HiddenStates* hidden) const -> LastLogits {
  return run(ids, cache, first_row, hidden, [this](const Hidden& x) {
    const std::int64_t batch = x.extent(0), time = x.extent(1);
    auto last = Tensor<T, Shape<dyn, D>, Backend>::empty({batch});
    for (std::int64_t b = 0; b < batch; ++b) Backend::template copy<T>(last.data() + b * D, x.data() + ((b + 1) * time - 1) * D, D);
    return linear(last, head_weight());
  });
}

template <const Config& C, class Weights, class Backend>
void LLM<C, Weights, Backend>::check_layers(std::span<const std::int64_t> layers) {
  for (const std::int64_t layer : layers)
    if (layer < 0 || layer >= hidden_count)
      throw ValueError(detail::concat("llm::LLM: hidden layer ", layer, " is none of 0 .. ", hidden_count - 1));
}

template <const Config& C, class Weights, class Backend>
void LLM<C, Weights, Backend>::keep(HiddenStates* hidden, std::int64_t layer, const Hidden& x) {
  for (std::size_t i = 0; hidden && i < hidden->layers.size(); ++i)
    if (hidden->layers[i] == layer) hidden->states[i] = x;
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::hidden_states(const Ids& ids, std::span<const std::int64_t> layers) const -> std::vector<Hidden> {
  check_length(ids);
  check_layers(layers);
  HiddenStates kept{{layers.begin(), layers.end()}, std::vector<Hidden>(layers.size())};
  std::int64_t deepest = 0;
  for (const std::int64_t layer : layers) deepest = (std::max)(deepest, layer);
  Hidden x = embed(ids, {});
  keep(&kept, 0, x);
  layers_->for_each([&](const auto& block, std::int64_t i) {
    if (i >= deepest) return;
    x = block(x, Pass<C.rope_width(), T, Backend>{&rope_of(i), {}, {}});
    keep(&kept, i + 1, x);
  });
  if constexpr (!P::post_norm)
    if (deepest > L) keep(&kept, L + 1, norm_(x));
  return std::move(kept.states);
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::hidden_states(const Ids& ids) const -> std::vector<Hidden> {
  std::vector<std::int64_t> all;
  for (std::int64_t layer = 0; layer < hidden_count; ++layer) all.push_back(layer);
  return hidden_states(ids, all);
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::loss(const Ids& inputs, const Ids& targets, const TrainingOptions& options) const -> Loss {
  detail::require_equal("llm::LLM::loss(inputs [B, T], targets [B, T])", "B of inputs", inputs.extent(0), "B of targets",
                        targets.extent(0));
  detail::require_equal("llm::LLM::loss(inputs [B, T], targets [B, T])", "T of inputs", inputs.extent(1), "T of targets",
                        targets.extent(1));
  if (options.parts) *options.parts = {};
  if constexpr (C.has_experts())
    if ((router_losses && options.router_losses) || options.parts) return loss_with_routers(inputs, targets, options);
  return cross_entropy(inputs, targets, options, {});
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::cross_entropy(const Ids& inputs, const Ids& targets, const TrainingOptions& options,
                                             const RouterLog& routers) const -> Loss {
  const Documents documents = options.documents ? *options.documents : Documents();
  Loss loss = head_loss(run(inputs, options.recompute, documents, routers), head_weight(), targets, options.loss());
  if (options.parts) options.parts->cross_entropy = static_cast<double>(loss.item());
  return loss;
}

template <const Config& C, class Weights, class Backend>
auto LLM<C, Weights, Backend>::loss_with_routers(const Ids& inputs, const Ids& targets, const TrainingOptions& options) const -> Loss {
  constexpr std::int64_t routers = detail::expert_layers(C).value;
  const auto log = RouterLog::begin<compute_t<T>, Backend>(routers, C.experts.count);
  const Loss loss = cross_entropy(inputs, targets, options, log);
  RouterLossArgs args{.routers = routers, .rows = inputs.numel(), .experts = C.experts.count};
  if (router_losses && options.router_losses) {
    double share = 1.0;
    if (options.denominator > 0)
      share = static_cast<double>(Backend::count_targets(targets.data(), targets.numel(), V, options.ignore_index)) /
              static_cast<double>(options.denominator);
    args.aux = share * C.experts.router_aux_loss_coef;
    args.z = share * C.experts.router_z_loss_coef;
  }
  return add_router_losses(loss, log, args, options.parts);
}

template <const Config& C, class Weights, class Backend>
template <class Inputs, class Targets, class... Rest>
auto LLM<C, Weights, Backend>::loss(const Inputs&, const Targets&, const Rest&...) const -> Loss {
  static_assert(detail::loss_arguments<Inputs, Targets, Rest...>,
                "llm::LLM::loss(inputs [B, T], targets [B, T], options): inputs and targets must be rank-2 tensors of llm::Token on the "
                "model's backend, "
                "and a loss takes no KV cache");
  return Loss();
}

}  // namespace llm
