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

/// A tensor for the result of an op that may write over its input x, which was given away: in the memory of x when nobody else refers to it
/// (no other variable, no view, and no op that saved it for backward), else in memory of its own.
template <class T, class S, class Backend>
Tensor<T, S, Backend> reuse(const Tensor<T, S, Backend>& x) {
  const bool free = x.buffer() && x.buffer()->references.load() == 1;
  return free ? x.detach() : Tensor<T, S, Backend>::empty(x.shape());
}

/// A tensor's values kept alive for backward.
template <class T>
class Saved {
 public:
  Saved() = default;
  template <class S, class B>
  explicit Saved(const Tensor<T, S, B>& x) : buffer_(x.buffer()) {}
  const T* data() const { return static_cast<const T*>(buffer_ ? buffer_->data : nullptr); }
  T* mutable_data() const { return static_cast<T*>(buffer_ ? buffer_->data : nullptr); }
  const detail::BufferRef& buffer() const { return buffer_; }

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
  /// Whether both are the gradient of one tensor.
  bool same(const Grad& other) const { return slot_ && slot_.get() == other.slot_.get(); }

  /// The gradient of an output inside backward(); never null there.
  const T* read() const { return static_cast<const T*>(slot_->grad->data); }

  /// Where to write the gradient of a tracked input. For an untracked one: scratch memory, so that kernels need no special case. A leaf of
  /// a narrow T gets scratch memory, too, which is added into its gradient when backward() has returned.
  GradTarget<T> write() { return write_as<T>(); }

  /// The same for kernels that add up many rows and do not round the sums, as those for gradients of parameters. A leaf's gradient is
  /// written directly; an intermediate of a narrow T gets scratch memory, which is rounded when backward() has returned.
  GradTarget<gradient_t<T>> write_wide() { return write_as<gradient_t<T>>(); }

  /// The same for a kernel that writes the gradient of one tensor through two of its outputs, in any order: always with `add`.
  GradTarget<T> write_summed() {
    GradTarget<T> target = write();
    if (!target.add) Backend::template fill<T>(target.data, numel_, 0.0);
    return {target.data, true};
  }

  /// The same for a kernel that reads element i, or row i, of `last_use` before it writes that of the gradient: takes over its memory when
  /// nobody else needs it and the gradient has none yet. For a gradient that the op writes once: see `same`.
  GradTarget<T> write_over(const Saved<T>& last_use) { return write_over(last_use.buffer()); }
  GradTarget<T> write_over(const Grad& output) { return output.slot_->keep ? write() : write_over(output.slot_->grad); }

  /// Adds this op's output gradient `from` into the input's; shares its memory when the input has none yet.
  void share(const Grad& from) {
    if (!slot_) return;
    if (slot_->grad || slot_->keep || from.slot_->keep)
      add(from);
    else
      slot_->grad = from.slot_->grad;
  }
  void add(const Grad& from) {
    if (!slot_) return;
    if constexpr (detail::is_narrow<T>)
      if (slot_->wide) return copy_into(write_wide(), from);
    copy_into(write(), from);
  }

 private:
  template <class To>
  void copy_into(GradTarget<To> target, const Grad& from) const {
    if constexpr (detail::is_narrow<T>)
      if (from.slot_->wide)
        return detail::write_gradient<Backend>(target, static_cast<const gradient_t<T>*>(from.slot_->grad->data), numel_);
    detail::write_gradient<Backend>(target, from.read(), numel_);
  }

  template <class As>
  GradTarget<As> write_as() {
    constexpr bool wide = !std::is_same_v<As, T>;
    if (slot_ && (!detail::is_narrow<T> || slot_->wide == wide)) return detail::grad_target<Backend, As>(*slot_, numel_);
    const bool add = slot_ && scratch_;
    if (!scratch_) scratch_ = scratch<As>();
    return {static_cast<As*>(scratch_->data), add};
  }
  template <class As>
  detail::BufferRef scratch() const {
    using Held = std::conditional_t<std::is_same_v<As, T>, gradient_t<T>, T>;
    if constexpr (detail::is_narrow<T>)
      if (slot_) return detail::ScratchGradients::of_thread().append<Backend, Held, As>(slot_, numel_);
    return detail::Pool<typename Backend::memory>::instance().allocate(static_cast<std::size_t>(numel_) * sizeof(As));
  }

  GradTarget<T> write_over(const detail::BufferRef& memory) {
    const bool free = memory && memory->references.load() == 1 && memory->bytes == static_cast<std::size_t>(numel_) * sizeof(T);
    if (free && slot_ && !slot_->keep && !slot_->grad) {
      slot_->grad = memory;
      return {static_cast<T*>(memory->data), false};
    }
    return write();
  }

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
