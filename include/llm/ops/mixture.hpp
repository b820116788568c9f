// A mixture of experts: each token passes the gated MLPs that a router chose for it, and each expert takes all its tokens in one product.
#pragma once

#include <memory>
#include <utility>

#include <llm/ops/linear.hpp>
#include <llm/ops/linear_stored.hpp>
#include <llm/ops/route.hpp>
#include <llm/tensor/host_memory.hpp>

namespace llm {

namespace detail {

/// The choices of a routing sorted by expert. Nothing here has a size that depends on what was chosen.
template <class Backend>
struct SortedChoices {
  Tensor<Token, Shape<dyn>, Backend> order, places;  // see backend_for
  BufferRef begins;                                  // [experts + 1], on the host
  std::int64_t active = 0, experts = 0;

  template <class T>
  explicit SortedChoices(const Routing<T, Backend>& routing)
      : order(decltype(order)::empty({routing.experts.numel()})),
        places(decltype(places)::empty({routing.experts.numel()})),
        begins(Pool<HostMemory>::instance().allocate(static_cast<std::size_t>(routing.n_experts + 1) * sizeof(std::int64_t))),
        active(routing.experts.extent(1)),
        experts(routing.n_experts) {
    Backend::sort_choices(routing.experts.data(), count(), experts, order.data(), places.data(), static_cast<std::int64_t*>(begins->data));
  }
  std::int64_t count() const { return order.numel(); }
  std::int64_t begin(std::int64_t expert) const { return static_cast<const std::int64_t*>(begins->data)[expert]; }
  /// f(expert, its first place, its rows), for every expert or for those that have rows.
  template <class F>
  void for_each(bool idle_too, const F& f) const {
    for (std::int64_t e = 0; e < experts; ++e)
      if (const std::int64_t rows = begin(e + 1) - begin(e); rows > 0 || idle_too) f(static_cast<std::size_t>(e), begin(e), rows);
  }
  /// y [choices, cols]: for each place the row of its token.
  template <class T>
  void gather(const T* x, T* y, std::int64_t cols) const {
    Backend::template gather_rows<T>(order.data(), x, y, count(), active, cols);
  }
};

/// y[rows, out] = x[rows, in] w^T for a layer's weight, whatever it is kept in.
template <class T, class Backend, class S>
void expert_product(const Tensor<T, S, Backend>& weight, const T* x, T* y, std::int64_t rows) {
  Backend::template linear_forward<T>(x, weight.data(), nullptr, y, rows, weight.extent(0), weight.extent(1));
}
template <class T, class Backend, std::int64_t N, std::int64_t K>
void expert_product(const StoredMatrix<N, K, Backend>& weight, const T* x, T* y, std::int64_t rows) {
  require_filled("llm::mixture(x [..., D], routing, experts)", weight);
  Backend::template linear_forward_stored<T>(x, weight.format(), weight.data(), nullptr, y, rows, N, K);
}

/// Gate and up [choices, F] of rows x [rows, D] of which each expert takes its own; z [choices, D] is room for them.
template <class T, class Backend, class Bank>
void gate_and_up(const T* x, const Bank& experts, const SortedChoices<Backend>& choices, T* z, T* gate, T* up) {
  constexpr std::int64_t F = Bank::value_type::inner_width, D = Bank::value_type::width;
  choices.gather(x, z, D);
  choices.for_each(false, [&](std::size_t e, std::int64_t at, std::int64_t rows) {
    const T* const from = static_cast<const T*>(z) + at * D;
    expert_product(experts[e].gate_proj.weight, from, gate + at * F, rows);
    expert_product(experts[e].up_proj.weight, from, up + at * F, rows);
  });
}
/// The same for stored weights: products of the same rows in one call, which reads the rows once and shares out all its work. With one row,
/// as when decoding, these are the products of all its experts.
template <class T, class Backend, class Bank>
void gate_and_up_stored(const T* x, const Bank& experts, const SortedChoices<Backend>& choices, T* z, T* gate, T* up) {
  constexpr std::int64_t most = 16, F = Bank::value_type::inner_width, D = Bank::value_type::width;
  const bool one_row = choices.count() == choices.active;
  if (!one_row) choices.gather(x, z, D);
  StoredProduct<T> products[most];
  std::int64_t count = 0;
  const auto add = [&](const auto& weight, T* y) {
    require_filled("llm::mixture(x [..., D], routing, experts)", weight);
    products[count++] = {weight.format(), weight.data(), nullptr, y, F};
  };
  const auto run = [&](const T* from, std::int64_t rows) {
    Backend::template linear_forward_stored<T>(from, products, std::exchange(count, 0), rows, D);
  };
  choices.for_each(false, [&](std::size_t e, std::int64_t at, std::int64_t rows) {
    add(experts[e].gate_proj.weight, gate + at * F);
    add(experts[e].up_proj.weight, up + at * F);
    if (!one_row) return run(z + at * D, rows);
    if (count == most) run(x, 1);
  });
  if (count > 0) run(x, 1);
}

/// The gradient of an expert's matrix, from the rows that reached it.
template <class T, class Backend, class S>
void expert_weight_gradient(const Tensor<T, S, Backend>& weight, const T* dy, const T* x, std::int64_t rows) {
  Grad<T, Backend> d_weight(weight);
  if (!d_weight.tracked()) return;
  const auto dw = d_weight.write_wide();
  Backend::template linear_backward_weight<T>(dy, x, dw.data, rows, weight.extent(0), weight.extent(1), dw.add);
}
/// The gradient of an expert's rows.
template <class T, class Backend, class S>
void expert_input_gradient(const Tensor<T, S, Backend>& weight, const T* dy, T* dx, std::int64_t rows, bool add) {
  Backend::template linear_backward_input<T>(dy, weight.data(), dx, rows, weight.extent(0), weight.extent(1), add);
}

/// The tape that must record a mixture, or null.
template <class X, class W, class Bank>
Tape* recording_mixture(const X& x, const W& weights, const Bank& experts) {
  Tape* const tape = Tape::current();
  if (!tape || x.tracked() || weights.tracked()) return tape;
  for (const auto& e : experts)
    if (recording(e.gate_proj.weight, e.up_proj.weight, e.down_proj.weight)) return tape;
  return nullptr;
}

/// Every expert's gradient is written, also that of one without a token, which is zero or left as it is.
template <class T, class Backend, class Bank>
struct MixtureOp {
  using C = compute_t<T>;
  using Flat = Tensor<T, Shape<dyn>, Backend>;

  std::shared_ptr<const Bank> experts;
  SortedChoices<Backend> choices;
  Saved<T> x, gate, up;  // gate and up [choices, F]
  Saved<C> weights;
  Grad<T, Backend> d_x, d_y;
  Grad<C, Backend> d_weights;
  std::int64_t D, F;

  void backward() {
    const std::int64_t n = choices.count();
    auto rows = Flat::empty({n * D});  // of d_y, then of d_x, then of x
    {
      auto d_h = Flat::empty({n * F});
      down_backward(rows.data(), d_h.data());
      T *const d_gate = gate.mutable_data(), *const d_up = up.mutable_data();
      Backend::template gated_backward<T>(Bank::value_type::gate, d_h.data(), d_gate, d_up, d_gate, d_up, nullptr, n * F, false, false);
    }
    if (d_x.tracked()) input_backward(rows.data());
    choices.gather(x.data(), rows.data(), D);
    choices.for_each(true, [&](std::size_t e, std::int64_t at, std::int64_t count) {
      const auto& expert = (*experts)[e];
      expert_weight_gradient(expert.up_proj.weight, up.data() + at * F, std::as_const(rows).data() + at * D, count);
      expert_weight_gradient(expert.gate_proj.weight, gate.data() + at * F, std::as_const(rows).data() + at * D, count);
    });
  }

 private:
  /// The gradient d_h of the experts' inner values, of the down projections and of the weights. Leaves d_y's rows, weighted, in d_z.
  void down_backward(T* d_z, T* d_h) {
    const std::int64_t n = choices.count();
    const Token* const order = choices.order.data();
    auto h = Flat::empty({n * F});
    Backend::template gated_forward<T>(Bank::value_type::gate, gate.data(), up.data(), h.data(), n * F);
    choices.gather(d_y.read(), d_z, D);
    choices.for_each(false, [&](std::size_t e, std::int64_t at, std::int64_t count) {
      expert_input_gradient((*experts)[e].down_proj.weight, std::as_const(d_z) + at * D, d_h + at * F, count, false);
    });
    const auto dw = d_weights.write();
    Backend::template row_dots<T>(order, d_h, h.data(), dw.data, n, F, dw.add);
    Backend::template scale_rows<T>(order, weights.data(), d_h, n, F);
    Backend::template scale_rows<T>(order, weights.data(), d_z, n, D);
    choices.for_each(true, [&](std::size_t e, std::int64_t at, std::int64_t count) {
      expert_weight_gradient((*experts)[e].down_proj.weight, static_cast<const T*>(d_z) + at * D, std::as_const(h).data() + at * F, count);
    });
  }
  void input_backward(T* rows) {
    choices.for_each(false, [&](std::size_t e, std::int64_t at, std::int64_t count) {
      expert_input_gradient((*experts)[e].up_proj.weight, up.data() + at * F, rows + at * D, count, false);
      expert_input_gradient((*experts)[e].gate_proj.weight, gate.data() + at * F, rows + at * D, count, true);
    });
    const auto dx = d_x.write();
    Backend::template combine_rows<T>(choices.places.data(), nullptr, rows, dx.data, choices.count() / choices.active, choices.active, D,
                                      dx.add);
  }
};

}  // namespace detail

/// y[r] = the sum over the experts e that row r chose of weight * down_e(f(gate_e(x)) * up_e(x)). x [..., D] -> [..., D].
/// experts: as many gated MLPs as the router has, with weights gate_proj and up_proj [F, D] and down_proj [D, F], trainable or stored. Only
/// the chosen ones are read. Throws ShapeError when their number or that of the rows is not the routing's, or a chosen stored one is empty.
/// Saves x, the weights, and two rows of F for each choice. Memory does not depend on what was chosen.
/// Source: arXiv:2401.04088 (Mixtral), 2101.03961 (Switch).
template <class T, class S, class Backend, class Bank>
Tensor<T, S, Backend> mixture(const Tensor<T, S, Backend>& x, const Routing<T, Backend>& routing, const std::shared_ptr<Bank>& experts) {
  constexpr const char* name = "llm::mixture(x [..., D], routing, experts)";
  using Flat = Tensor<T, Shape<dyn>, Backend>;
  constexpr std::int64_t F = Bank::value_type::inner_width;
  const std::int64_t rows = detail::rows(x.shape()), D = detail::last(x.shape());
  detail::require_equal(name, "rows of x", rows, "rows of the routing", routing.experts.extent(0));
  detail::require_equal(name, "D of x", D, "D of the experts", Bank::value_type::width);
  detail::require_equal(name, "experts", static_cast<std::int64_t>(experts->size()), "experts of the router", routing.n_experts);
  const detail::SortedChoices<Backend> choices(routing);
  const std::int64_t n = choices.count();
  auto gate = Flat::empty({n * F}), up = Flat::empty({n * F}), z = Flat::empty({n * D});
  if constexpr (Bank::value_type::trainable)
    detail::gate_and_up(x.data(), *experts, choices, z.data(), gate.data(), up.data());
  else
    detail::gate_and_up_stored(x.data(), *experts, choices, z.data(), gate.data(), up.data());
  auto h = Flat::empty({n * F});
  Backend::template gated_forward<T>(Bank::value_type::gate, gate.data(), up.data(), h.data(), n * F);
  choices.for_each(false, [&](std::size_t e, std::int64_t at, std::int64_t count) {
    detail::expert_product((*experts)[e].down_proj.weight, std::as_const(h).data() + at * F, z.data() + at * D, count);
  });
  auto y = Tensor<T, S, Backend>::empty(x.shape());
  Backend::template combine_rows<T>(choices.places.data(), routing.weights.data(), z.data(), y.data(), rows, choices.active, D, false);
  if constexpr (Bank::value_type::trainable) {
    if (Tape* const tape = detail::recording_mixture(x, routing.weights, *experts)) {
      const auto d_y = output_gradient(y);
      using G = Grad<T, Backend>;
      tape->record(y, detail::MixtureOp<T, Backend, Bank>{experts, choices, Saved<T>(x), Saved<T>(gate), Saved<T>(up),
                                                          Saved<compute_t<T>>(routing.weights), G(x), d_y,
                                                          Grad<compute_t<T>, Backend>(routing.weights), D, F});
    }
  }
  return y;
}

}  // namespace llm
