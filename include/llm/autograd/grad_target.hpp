// Where gradients are written: in their place, or in scratch memory when an op writes another element type than the place has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/tensor/grad_slot.hpp>

namespace llm {

/// Where a backward kernel writes a gradient: with `add` it adds to what is there, else the memory is uninitialised.
template <class T>
struct GradTarget {
  T* data = nullptr;
  bool add = false;
};

namespace detail {

/// The place of a gradient whose elements are T. A gradient that others share is copied before anything is added to it.
template <class Backend, class T>
GradTarget<T> grad_target(GradSlot& slot, std::int64_t numel) {
  auto& pool = Pool<typename Backend::memory>::instance();
  const bool add = static_cast<bool>(slot.grad);
  if (add && !slot.keep && slot.grad->references.load() > 1) {
    const BufferRef shared = std::exchange(slot.grad, pool.allocate(slot.grad->bytes));
    Backend::template copy<T>(static_cast<T*>(slot.grad->data), static_cast<const T*>(shared->data), numel);
  }
  if (!add) slot.grad = pool.allocate(static_cast<std::size_t>(numel) * sizeof(T));
  return {static_cast<T*>(slot.grad->data), add};
}

/// Writes values as a kernel would.
template <class Backend, class To, class From>
void write_gradient(GradTarget<To> target, const From* values, std::int64_t numel) {
  if (target.add)
    Backend::template accumulate<To, From>(target.data, values, numel);
  else if constexpr (std::is_same_v<To, From>)
    Backend::template copy<To>(target.data, values, numel);
  else
    Backend::template convert<To, From>(target.data, values, numel);
}

/// A gradient in scratch memory; `add` puts it where it belongs.
struct ScratchGradient {
  SlotRef slot;
  BufferRef written;
  std::int64_t numel;
  void (*add)(const ScratchGradient&);
};

/// Those that the ops running on this thread have written, innermost op last. One object across shared libraries (LLM_SHARED).
class LLM_SHARED ScratchGradients {
 public:
  static ScratchGradients& of_thread() {
    thread_local ScratchGradients gradients;
    return gradients;
  }

  /// Memory for values of type From, to be added to the slot's gradient, whose elements are To.
  template <class Backend, class To, class From>
  BufferRef append(SlotRef slot, std::int64_t numel) {
    if (running_ == 0) throw Error("llm::Grad::write: a gradient is written inside the backward() of an op that a tape runs");
    BufferRef written = Pool<typename Backend::memory>::instance().allocate(static_cast<std::size_t>(numel) * sizeof(From));
    list_.push_back({std::move(slot), written, numel, [](const ScratchGradient& g) {
                       write_gradient<Backend>(grad_target<Backend, To>(*g.slot, g.numel), static_cast<const From*>(g.written->data),
                                               g.numel);
                     }});
    return written;
  }

  /// Runs the backward function of an op, and then adds up what it has appended. When something throws, all of that is dropped.
  void run(void (*backward)(void*), void* op) {
    const Scope scope(*this);
    backward(op);
    for (std::size_t i = scope.first; i < list_.size(); ++i) list_[i].add(list_[i]);
  }

 private:
  struct Scope {
    explicit Scope(ScratchGradients& gradients) : first(gradients.list_.size()), all(gradients) { ++all.running_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      --all.running_;
      while (all.list_.size() > first) all.list_.pop_back();
    }
    const std::size_t first;
    ScratchGradients& all;
  };

  std::vector<ScratchGradient> list_;
  int running_ = 0;
};

}  // namespace detail
}  // namespace llm
