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

  /// The gradient of an output inside backward(); never null there.
  const T* read() const { return static_cast<const T*>(slot_->grad->data); }

  /// Where to write the gradient of a tracked input. For an untracked one: scratch memory, so that kernels need no special case.
  GradTarget<T> write() {
    auto& pool = detail::Pool<typename Backend::memory>::instance();
    detail::BufferRef& target = slot_ ? slot_->grad : scratch_;
    const bool add = slot_ && target;
    if (add && !slot_->keep && target->references.load() > 1) {  // shared: what others still read must stay
      const detail::BufferRef shared = std::exchange(target, pool.allocate(target->bytes));
      Backend::template copy<T>(static_cast<T*>(target->data), static_cast<const T*>(shared->data), numel_);
    }
    if (!target) target = pool.allocate(static_cast<std::size_t>(numel_) * sizeof(T));
    return {static_cast<T*>(target->data), add};
  }

  /// The same for a kernel that reads element i, or row i, of `last_use` before it writes that of the gradient: takes over its memory when
  /// nobody else needs it and the gradient has none yet.
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
    const GradTarget<T> target = write();
    if (target.add)
      Backend::template accumulate<T>(target.data, from.read(), numel_);
    else
      Backend::template copy<T>(target.data, from.read(), numel_);
  }

 private:
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
