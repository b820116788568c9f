// Kernels of the activations, plain and gated, forward and backward, and the functions that start them. Formulas are the reference's.
#pragma once

#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/block.cuh>
#include <llm/backend/reference/activation.hpp>
#include <llm/backend/reference/store.hpp>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// y[i] = f(x[i]), times up[i] unless that is null. y may be x or up.
template <class T, int Width>
static __global__ void activation_forward(Activation kind, const T* x, const T* up, T* y, std::int64_t n) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  const P* const in = reinterpret_cast<const P*>(x);
  const P* const factors = reinterpret_cast<const P*>(up);
  P* const out = reinterpret_cast<P*>(y);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    const P a = in[i];
    const P u = up != nullptr ? factors[i] : P{};
    P b;
    for (int j = 0; j < Width; ++j) {
      const C value = reference::activate(kind, static_cast<C>(a.values[j])).value;
      b.values[j] = static_cast<T>(up != nullptr ? value * static_cast<C>(u.values[j]) : value);
    }
    out[i] = b;
  }
}

/// dx[i] = dy[i] f'(x[i]), and y[i] = f(x[i]) unless y is null. y may be dy.
template <class T, int Width>
static __global__ void activation_backward(Activation kind, const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  const P* const d_out = reinterpret_cast<const P*>(dy);
  const P* const in = reinterpret_cast<const P*>(x);
  P* const d_in = reinterpret_cast<P*>(dx);
  P* const out = reinterpret_cast<P*>(y);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    const P d = d_out[i], a = in[i];
    P slope = add ? d_in[i] : P{}, value;
    for (int j = 0; j < Width; ++j) {
      const reference::ValueAndSlope<C> f = reference::activate(kind, static_cast<C>(a.values[j]));
      reference::store(slope.values[j], static_cast<C>(d.values[j]) * f.slope, add);
      value.values[j] = static_cast<T>(f.value);
    }
    d_in[i] = slope;
    if (y != nullptr) out[i] = value;
  }
}

/// dgate[i] = dy[i] up[i] f'(gate[i]), dup[i] = dy[i] f(gate[i]), and y[i] = f(gate[i]) up[i] unless y is null. y may be dy,
/// and dgate dup.
template <class T, int Width>
static __global__ void gated_backward(Activation kind, const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n,
                                      bool add_dgate, bool add_dup) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  const P* const d_out = reinterpret_cast<const P*>(dy);
  const P* const gates = reinterpret_cast<const P*>(gate);
  const P* const ups = reinterpret_cast<const P*>(up);
  P* const d_gates = reinterpret_cast<P*>(dgate);
  P* const d_ups = reinterpret_cast<P*>(dup);
  P* const out = reinterpret_cast<P*>(y);
  for (std::int64_t i = first_of_grid(); i < n / Width; i += threads_of_grid()) {
    const P d = d_out[i], g = gates[i], u = ups[i];
    P d_gate = add_dgate ? d_gates[i] : P{}, value;
    Pack<C, Width> of_up;
    for (int j = 0; j < Width; ++j) {
      const C slope = static_cast<C>(d.values[j]), factor = static_cast<C>(u.values[j]);
      const reference::ValueAndSlope<C> f = reference::activate(kind, static_cast<C>(g.values[j]));
      reference::store(d_gate.values[j], slope * factor * f.slope, add_dgate);
      of_up.values[j] = slope * f.value;
      value.values[j] = static_cast<T>(f.value * factor);
    }
    if (y != nullptr) out[i] = value;
    d_gates[i] = d_gate;
    P d_up = add_dup ? d_ups[i] : P{};  // read now: it may be what was written to d_gates
    for (int j = 0; j < Width; ++j) reference::store(d_up.values[j], of_up.values[j], add_dup);
    d_ups[i] = d_up;
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// y[i] = f(gate[i]) up[i]
template <class T>
void gated_forward(Activation kind, const T* gate, const T* up, T* y, std::int64_t n) {
  const bool wide = device::accessible_wide<T>(n, gate, up, y);
  const auto kernel = wide ? device::activation_forward<T, device::full_width<T>> : device::activation_forward<T, 1>;
  device::launch_elements<T>(kernel, n, wide, kind, gate, up, y, n);
}

/// y[i] = f(x[i])
template <class T>
void activation_forward(Activation kind, const T* x, T* y, std::int64_t n) {
  gated_forward<T>(kind, x, nullptr, y, n);
}

/// dx[i] = dy[i] f'(x[i]), and y[i] = f(x[i]) unless y is null. y may be dy.
template <class T>
void activation_backward(Activation kind, const T* dy, const T* x, T* dx, T* y, std::int64_t n, bool add) {
  const bool wide = device::accessible_wide<T>(n, dy, x, dx, y);
  const auto kernel = wide ? device::activation_backward<T, device::full_width<T>> : device::activation_backward<T, 1>;
  device::launch_elements<T>(kernel, n, wide, kind, dy, x, dx, y, n, add);
}

/// dgate[i] = dy[i] up[i] f'(gate[i]), dup[i] = dy[i] f(gate[i]), and y[i] = f(gate[i]) up[i] unless y is null. y may be dy.
template <class T>
void gated_backward(Activation kind, const T* dy, const T* gate, const T* up, T* dgate, T* dup, T* y, std::int64_t n, bool add_dgate,
                    bool add_dup) {
  const bool wide = device::accessible_wide<T>(n, dy, gate, up, dgate, dup, y);
  const auto kernel = wide ? device::gated_backward<T, device::full_width<T>> : device::gated_backward<T, 1>;
  device::launch_elements<T>(kernel, n, wide, kind, dy, gate, up, dgate, dup, y, n, add_dgate, add_dup);
}

}  // namespace llm::cuda
