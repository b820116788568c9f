// The tape: what ops did, in order, and the walk backwards that turns it into gradients.
#pragma once

#include <memory>
#include <vector>

#include <llm/autograd/arena.hpp>
#include <llm/autograd/grad_target.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

class Tape;

namespace detail {

/// The innermost recording tape of this thread, or null. One object across shared libraries (LLM_SHARED).
struct LLM_SHARED CurrentTape {
  static Tape*& pointer() {
    thread_local Tape* tape = nullptr;
    return tape;
  }
};

template <class Op>
inline constexpr bool has_backward = requires(Op& op) {
  op.backward();
};

template <class Loss>
inline constexpr bool is_scalar = false;
template <class T, class Backend>
inline constexpr bool is_scalar<Tensor<T, Shape<>, Backend>> = true;

}  // namespace detail

/// Records ops while it lives on its thread (until backward). Without a tape nothing is recorded, so inference needs no guard.
/// Tapes nest: ops go to the innermost one. Not copyable, not movable; destroy in reverse order of construction.
class Tape {
 public:
  Tape() : arena_(detail::take_arena()), enclosing_(detail::CurrentTape::pointer()) { detail::CurrentTape::pointer() = this; }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape() {
    leave();
    while (size_ > 0) drop_last();
    detail::give_arena(std::move(arena_));
  }

  /// The tape that records on this thread now, or null.
  static Tape* current() {
    Tape* tape = detail::CurrentTape::pointer();
    while (tape && !tape->recording_) tape = tape->enclosing_;
    return tape;
  }

  std::int64_t size() const { return static_cast<std::int64_t>(size_); }

  /// For ops. y is the op's result and has a place for its gradient (see output_gradient). `op` holds what the op saved; it is kept
  /// until backward has called op.backward(), or the tape dies.
  template <class T, class S, class B, class Op>
  void record(const Tensor<T, S, B>& y, Op op) {
    if (!y.slot()) throw Error("llm::Tape::record: the result has no place for its gradient (hint: call output_gradient(y) first)");
    if (y.slot()->wide)
      throw Error("llm::Tape::record: the result is a leaf, tracked before (hint: call output_gradient(y) in place of y.track())");
    auto& records = arena_->records;
    if (size_ == records.size()) records.resize(records.size() < 64 ? 64 : 2 * records.size());
    static_assert(detail::has_backward<Op>, "llm::Tape::record(y, op): op needs a member function void backward()");
    static_assert(sizeof(Op) <= detail::TapeArena::chunk_bytes && alignof(Op) <= alignof(std::max_align_t));
    void* const place = arena_->allocate(sizeof(Op), alignof(Op));
    auto* const kept = ::new (place) Op(std::move(op));
    records[size_++] = {[](void* p) { run<Op>(p); }, [](void* p) { static_cast<Op*>(p)->~Op(); }, kept, y.slot()};
  }

  /// Ends recording and adds d loss / d x into the gradient of every tracked x that the loss depends on.
  /// Throws Error when the loss was not recorded here: it depends on nothing tracked, or another tape recorded it.
  template <class T, class B>
  void backward(const Tensor<T, Shape<>, B>& loss) {
    backward(loss, Tensor<T, Shape<>, B>::full({}, 1.0));
  }
  /// Anything that is no scalar.
  template <class Loss>
  void backward(const Loss&) {
    static_assert(
        detail::is_scalar<Loss>,
        "llm::Tape::backward(loss): the loss must be a tensor of Shape<> (hint: average it, as cross_entropy and LLM::loss do, or "
        "give the gradient: backward(y, d_y))");
  }
  /// The same from any tensor y with the upstream gradient d_y of its shape.
  template <class T, class S, class B>
  void backward(const Tensor<T, S, B>& y, const Tensor<T, S, B>& d_y) {
    if (!y.slot())
      throw Error(
          "llm::Tape::backward: the tensor depends on nothing tracked that this tape recorded (hint: create the Tape before the forward "
          "pass)");
    if (y.shape() != d_y.shape())
      throw ShapeError(detail::concat("llm::Tape::backward: gradient ", to_string(d_y.shape()), " for a tensor ", to_string(y.shape())));
    if (size_ == 0) throw Error("llm::Tape::backward: nothing is recorded on this tape (hint: backward can run once for each Tape)");
    require_recorded(y.slot().get());
    recording_ = false;
    leave();
    seed(y, d_y);
    while (size_ > 0) {
      detail::Record& last = arena_->records[size_ - 1];
      if (last.output->grad) detail::ScratchGradients::of_thread().run(last.run, last.op);
      if (!last.output->keep) last.output->grad.reset();  // nobody before this op can need it
      drop_last();
    }
  }

  /// A gradient of another type, shape or backend.
  template <class Y, class Gradient>
  void backward(const Y&, const Gradient&) {
    static_assert(std::is_same_v<Y, Gradient>,
                  "llm::Tape::backward(y, d_y): the gradient d_y must have the element type, shape and backend of y");
  }

 private:
  template <class Op>
  static void run(void* op) {
    if constexpr (detail::has_backward<Op>) static_cast<Op*>(op)->backward();
  }
  template <class T, class S, class B>
  static void seed(const Tensor<T, S, B>& y, const Tensor<T, S, B>& d_y) {
    if (y.has_grad())
      detail::write_gradient<B>(detail::grad_target<B, T>(*y.slot(), y.numel()), d_y.data(), y.numel());
    else
      y.slot()->grad = d_y.clone().buffer();  // ours: ops may hand the block on and add into it
  }
  /// Usually the last record: a loss is what a forward pass ends with.
  void require_recorded(const detail::GradSlot* slot) const {
    for (std::size_t i = size_; i-- > 0;)
      if (arena_->records[i].output.get() == slot) return;
    throw Error("llm::Tape::backward: the tensor is a leaf or was recorded by another tape");
  }
  /// Makes way for the enclosing tape, unless an inner tape or a NoTape stands in front: current() passes over this one then.
  void leave() {
    if (detail::CurrentTape::pointer() == this) detail::CurrentTape::pointer() = enclosing_;
  }
  void drop_last() {
    detail::Record& last = arena_->records[--size_];
    last.destroy(last.op);
    last.output.reset();
  }

  std::unique_ptr<detail::TapeArena> arena_;
  Tape* enclosing_;
  std::size_t size_ = 0;
  bool recording_ = true;
};

/// Suspends recording on this thread while it lives: evaluation inside training, or the first pass of recompute.
class NoTape {
 public:
  NoTape() : suspended_(std::exchange(detail::CurrentTape::pointer(), nullptr)) {}
  NoTape(const NoTape&) = delete;
  NoTape& operator=(const NoTape&) = delete;
  ~NoTape() { detail::CurrentTape::pointer() = suspended_; }

 private:
  Tape* suspended_;
};

}  // namespace llm
