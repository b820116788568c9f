// The kernel of one AdamW step over a list of parameters, and the function that starts it. Source: arXiv:1711.05101, in the order of
// operations of torch.optim.AdamW.
#pragma once

#include <cmath>
#include <cstdint>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/block.cuh>
#include <llm/backend/cuda/parts.cuh>
#include <llm/core/dtype.hpp>

namespace llm::device {

/// What AdamWArgs says, as the kernel needs it.
template <class C>
struct AdamWFactors {
  C grad_scale, beta1, beta2, rest1, rest2, eps, step, root2;  // rest = 1 - beta, step = lr / correction1, root2 = sqrt(correction2)
  double lr;

  explicit AdamWFactors(const AdamWArgs& a)
      : grad_scale(static_cast<C>(a.grad_scale)),
        beta1(static_cast<C>(a.beta1)),
        beta2(static_cast<C>(a.beta2)),
        rest1(static_cast<C>(1 - a.beta1)),
        rest2(static_cast<C>(1 - a.beta2)),
        eps(static_cast<C>(a.eps)),
        step(static_cast<C>(a.lr / a.correction1)),
        root2(static_cast<C>(std::sqrt(a.correction2))),
        lr(a.lr) {}
};

/// Updates elements [first, first + Width) of a part, whose weights are multiplied by `kept` first.
template <class T, int Width>
static __device__ void adamw_step(const AdamWFactors<compute_t<T>>& f, const AdamWPart<T>& part, compute_t<T> kept, std::int64_t first) {
  using C = compute_t<T>;
  using P = Pack<T, Width>;
  using Q = Pack<C, Width>;
  P* const param = reinterpret_cast<P*>(part.param + first);
  Q* const master = part.master != nullptr ? reinterpret_cast<Q*>(part.master + first) : nullptr;
  Q* const first_moment = reinterpret_cast<Q*>(part.m + first);
  Q* const second_moment = reinterpret_cast<Q*>(part.v + first);
  const Q grad = *reinterpret_cast<const Q*>(part.grad + first);
  Q m = *first_moment, v = *second_moment, weights = master != nullptr ? *master : Q{};
  P rounded = master != nullptr ? P{} : *param;
  for (int j = 0; j < Width; ++j) {
    const C g = grad.values[j] * f.grad_scale;
    m.values[j] = f.beta1 * m.values[j] + f.rest1 * g;
    v.values[j] = f.beta2 * v.values[j] + f.rest2 * g * g;
    const C weight = master != nullptr ? weights.values[j] : static_cast<C>(rounded.values[j]);
    weights.values[j] = weight * kept - f.step * m.values[j] / (std::sqrt(v.values[j]) / f.root2 + f.eps);
    rounded.values[j] = static_cast<T>(weights.values[j]);
  }
  *first_moment = m;
  *second_moment = v;
  if (master != nullptr) *master = weights;
  *param = rounded;
}

template <class T>
static __global__ void adamw(PartList<AdamWPart<T>> list, std::int64_t chunks, AdamWFactors<compute_t<T>> factors) {
  using C = compute_t<T>;
  constexpr int width = full_width<C>;
  for (std::int64_t i = blockIdx.x; i < chunks; i += gridDim.x) {
    const Chunk<AdamWPart<T>> chunk = chunk_of(list, i);
    const AdamWPart<T>& part = chunk.part;
    const C kept = static_cast<C>(1 - factors.lr * part.weight_decay);
    const bool wide = aligned(part.param, part.master, part.grad, part.m, part.v);
    const std::int64_t packs = wide ? chunk.n / width : 0, end = chunk.first + chunk.n;
    for (std::int64_t p = threadIdx.x; p < packs; p += blockDim.x) adamw_step<T, width>(factors, part, kept, chunk.first + p * width);
    for (std::int64_t e = chunk.first + packs * width + threadIdx.x; e < end; e += blockDim.x) adamw_step<T, 1>(factors, part, kept, e);
  }
}

}  // namespace llm::device

namespace llm::cuda {

/// One step of `count` parameters; the list is in host memory. A part's gradients are multiplied by grad_scale first, which is how a step
/// clips them.
template <class T>
void adamw(const AdamWArgs& args, const AdamWPart<T>* parts, std::int64_t count) {
  const device::DeviceParts<AdamWPart<T>> on_device(parts, count);
  if (on_device.chunks() == 0) return;
  device::launch(device::adamw<T>, on_device.blocks(), device::chunk_threads, 0, on_device.list(), on_device.chunks(),
                 device::AdamWFactors<compute_t<T>>(args));
}

}  // namespace llm::cuda
