// Tensor: elements of one type in a shape whose extents are constants or known at run time.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/shape.hpp>
#include <llm/tensor/grad_slot.hpp>

namespace llm {

struct Cpu;  // backend/cpu/cpu.hpp

namespace detail {

/// Whether a tensor of shape From can be viewed as To, as far as the constants tell.
template <class From, class To>
inline constexpr bool may_view = [] {
  if (From::rank_dynamic > 0 || To::rank_dynamic > 0) return true;
  return From().numel() == To().numel();
}();

/// Whether a tensor of shape S can have exactly one element, as far as the constants tell.
template <class S>
inline constexpr bool may_have_one_element = [] {
  for (int i = 0; i < S::rank; ++i)
    if (S::static_extent(i) != 1 && S::static_extent(i) != dyn) return false;
  return true;
}();

/// Values are a contiguous range of T. Named so that the compiler prints the types.
template <class Values, class T>
inline constexpr bool values_of = std::is_convertible_v<const Values&, std::span<const T>>;

}  // namespace detail

/// A dense row-major tensor of T on a backend. Copying a Tensor shares its elements and its gradient; clone() copies them.
/// Creation, reading and writing from the host go through empty / zeros / from / to_vector; data() is the backend's pointer.
template <class T, class S, class Backend = Cpu>
class Tensor {
 public:
  using value_type = T;
  using shape_type = S;
  using backend_type = Backend;
  static constexpr int rank = S::rank;

  /// No elements at all; assign before use.
  Tensor() = default;

  /// Uninitialised elements.
  static Tensor empty(const S& shape = {}) {
    Tensor t;
    t.shape_ = shape;
    const std::int64_t bytes = storage_bytes(dtype_of<T>, shape.numel());
    t.buffer_ = detail::Pool<typename Backend::memory>::instance().allocate(static_cast<std::size_t>(bytes));
    return t;
  }
  static Tensor full(const S& shape, double value) {
    Tensor t = empty(shape);
    Backend::template fill<T>(t.data(), t.numel(), value);
    return t;
  }
  static Tensor zeros(const S& shape = {}) { return full(shape, 0.0); }

  /// Copies host values in. Throws ShapeError when their number is not the shape's.
  static Tensor from(std::span<const T> values, const S& shape = {}) {
    Tensor t = empty(shape);
    t.assign(values);
    return t;
  }
  /// `from({1, 2, 3}, {1, 3})`
  static Tensor from(std::initializer_list<T> values, const S& shape = {}) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  /// Values that are no contiguous range of T.
  template <class Values>
  requires(!std::is_convertible_v<const Values&, std::span<const T>>) static Tensor from(const Values&, const S& = {}) {
    static_assert(
        detail::values_of<Values, T>,
        "llm::Tensor<T, S, Backend>::from(values, shape): the values must be T, one after another in memory, as std::vector<T> or "
        "std::span<const T> (hint: convert each value first)");
    return {};
  }
  /// Overwrites all elements with host values. Throws ShapeError when their number differs.
  void assign(std::span<const T> values) {
    if (static_cast<std::int64_t>(values.size()) != numel())
      throw ShapeError(detail::concat("llm::Tensor: ", values.size(), " values for shape ", to_string(shape_), ", which has ", numel()));
    Backend::memory::copy_from_host(data(), values.data(), values.size_bytes());
  }
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<std::size_t>(numel()));
    if (!values.empty()) Backend::memory::copy_to_host(values.data(), data(), values.size() * sizeof(T));
    return values;
  }
  /// The value of a tensor with exactly one element. Throws ShapeError otherwise.
  T item() const {
    static_assert(detail::may_have_one_element<S>,
                  "llm::Tensor::item(): the tensor must have exactly one element (hint: to_vector() gives all)");
    if (numel() != 1)
      throw ShapeError(detail::concat("llm::Tensor::item: shape ", to_string(shape_), " has ", numel(), " elements, not one"));
    T value;
    Backend::memory::copy_to_host(&value, data(), sizeof(T));
    return value;
  }
  /// A copy with its own elements and no gradient.
  Tensor clone() const {
    Tensor t = empty(shape_);
    Backend::template copy<T>(t.data(), data(), numel());
    return t;
  }

  T* data() { return static_cast<T*>(buffer_ ? buffer_->data : nullptr); }
  const T* data() const { return static_cast<const T*>(buffer_ ? buffer_->data : nullptr); }
  const S& shape() const { return shape_; }
  std::int64_t extent(int i) const { return shape_.extent(i); }
  std::int64_t numel() const { return shape_.numel(); }
  explicit operator bool() const { return static_cast<bool>(buffer_); }

  /// The same elements (and gradient) in another shape of as many elements.
  template <class To>
  Tensor<T, To, Backend> view(const To& shape = {}) const {
    static_assert(detail::may_view<S, To>, "llm::Tensor::view<To>: the new shape must have as many elements as the old one");
    if (shape.numel() != numel())
      throw ShapeError(detail::concat("llm::Tensor::view: ", to_string(shape_), " has ", numel(), " elements, ", to_string(shape), " has ",
                                      shape.numel()));
    return Tensor<T, To, Backend>(buffer_, slot_, shape);
  }

  /// Makes this a leaf whose gradient is computed and kept, as parameters are: in gradient_t<T>, which for bf16 is float.
  Tensor& track() {
    if (!slot_) slot_ = detail::new_slot(true, detail::is_narrow<T>);
    return *this;
  }
  /// Keeps an intermediate's gradient too, so that it can be looked at after backward.
  Tensor& retain_grad() {
    if (slot_) slot_->keep = true;
    return *this;
  }
  bool tracked() const { return static_cast<bool>(slot_); }
  bool has_grad() const { return slot_ && slot_->grad; }
  /// The gradient, sharing memory with the tape's; zeros when nothing reached this tensor. An intermediate's is in T inside: for a narrow
  /// T this is a copy.
  Tensor<gradient_t<T>, S, Backend> grad() const {
    using Gradient = Tensor<gradient_t<T>, S, Backend>;
    if (!has_grad()) return Gradient::zeros(shape_);
    if constexpr (detail::is_narrow<T>) {
      if (!slot_->wide) {
        auto copy = Gradient::empty(shape_);
        Backend::template convert<gradient_t<T>, T>(copy.data(), static_cast<const T*>(slot_->grad->data), numel());
        return copy;
      }
    }
    return Gradient(slot_->grad, {}, shape_);
  }
  void clear_grad() {
    if (slot_) slot_->grad.reset();
  }
  /// The same elements, cut off from the tape.
  Tensor detach() const { return Tensor(buffer_, {}, shape_); }

  // For ops: what the tape shares and what a new tensor is made of.
  const detail::BufferRef& buffer() const { return buffer_; }
  const detail::SlotRef& slot() const { return slot_; }
  void set_slot(detail::SlotRef slot) { slot_ = std::move(slot); }
  Tensor(detail::BufferRef buffer, detail::SlotRef slot, const S& shape)
      : buffer_(std::move(buffer)), slot_(std::move(slot)), shape_(shape) {}

 private:
  detail::BufferRef buffer_;
  detail::SlotRef slot_;
  [[no_unique_address]] S shape_{};
};

/// Token ids and targets.
using Token = std::int32_t;

}  // namespace llm
