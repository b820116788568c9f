// What an op keeps for its backward pass: saved values, and where gradients come from and go to.
#pragma once

#include <llm/autograd/tape.hpp>

namespace llm {

// An op computes its result y, and when recording(inputs...) gives a tape, ends with
//   const auto d_y = output_gradient(y);
//   tape->record(y, Op{Saved(x), Grad(x), d_y});
// where Op is a struct of the op's own with `void backward()`, which reads d_y and writes the inputs' gradients.

/// The tape that must record an op on these inputs, or null when none records or no input is tracked.
template <class... Tensors>
Tape* recording(const Tensors&... inputs) {
  Tape* const tape = Tape::current();
  return tape && (inputs.tracked() || ...) ? tape : nullptr;
}

/// Where a backward kernel writes a gradient: with `add` it adds to what is there, else the memory is uninitialised.
template <class T>
struct GradTarget {
  T* data = nullptr;
  bool add = false;
};

/// A tensor's values kept alive for backward.
template <class T>
class Saved {
 public:
  Saved() = default;
  template <class S, class B>
  explicit Saved(const Tensor<T, S, B>& x) : buffer_(x.buffer()) {}
  const T* data() const { return static_cast<const T*>(buffer_ ? buffer_->data : nullptr); }
  T* mutable_data() const { return static_cast<T*>(buffer_ ? buffer_->data : nullptr); }

 private:
  detail::BufferRef buffer_;
};
template <class T, class S, class B>
Saved(const Tensor<T, S, B>&) -> Saved<T>;

/// The gradient of an op's input or output, without the tensor's shape or values.
template <class T, class Backend>
class Grad {
 public:
  Grad() = default;
  template <class S>
  explicit Grad(const Tensor<T, S, Backend>& x) : slot_(x.slot()), numel_(x.numel()) {}

  bool tracked() const { return static_cast<bool>(slot_); }
  std::int64_t numel() const { return numel_; }

  /// The gradient of an output inside backward(); never null there.
  const T* read() const { return static_cast<const T*>(slot_->grad->data); }

  /// Where to write the gradient of a tracked input. For an untracked one: scratch memory, so that kernels need no special case.
  GradTarget<T> write() {
    auto& pool = detail::Pool<typename Backend::memory>::instance();
    detail::BufferRef& target = slot_ ? slot_->grad : scratch_;
    const bool add = slot_ && target;
    if (!target) target = pool.allocate(static_cast<std::size_t>(numel_) * sizeof(T));
    return {static_cast<T*>(target->data), add};
  }

  /// Adds this op's output gradient `from` into the input's; takes over its memory when the input has none yet.
  void take(Grad& from) {
    if (!slot_) return;
    if (slot_->grad || from.slot_->keep || from.slot_->grad->references.load() > 1)
      add(from);
    else
      slot_->grad = std::move(from.slot_->grad);
  }
  void add(const Grad& from) {
    if (!slot_) return;
    const GradTarget<T> target = write();
    if (target.add)
      Backend::template accumulate<T>(target.data, from.read(), numel_);
    else
      Backend::template copy<T>(target.data, from.read(), numel_);
  }

 private:
  detail::SlotRef slot_;
  detail::BufferRef scratch_;
  std::int64_t numel_ = 0;
};
template <class T, class S, class B>
Grad(const Tensor<T, S, B>&) -> Grad<T, B>;

/// Gives the result of an op that is being recorded a place for its gradient, and returns that.
template <class T, class S, class Backend>
Grad<T, Backend> output_gradient(Tensor<T, S, Backend>& y) {
  y.set_slot(detail::new_slot(false));
  return Grad<T, Backend>(y);
}

}  // namespace llm
