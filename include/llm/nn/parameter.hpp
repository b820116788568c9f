// Parameters: how weights are kept, and the view under which a model lists them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <llm/tensor/decode.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// Weights that training changes, stored and computed in T (float, double, or bf16 with f32 master weights in the optimizer).
template <class T = float>
struct Trainable {
  using value_type = T;    // of activations
  using element_type = T;  // what layers without matrices take for their T
};

/// Weights for inference: each matrix carries its storage format as a run-time tag; activations are f32.
struct Frozen {
  using value_type = float;
  using element_type = Frozen;
};

namespace detail {
template <class Weights>
inline constexpr bool trainable_weights = false;
template <class T>
inline constexpr bool trainable_weights<Trainable<T>> = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bf16>;

template <class Weights>
inline constexpr bool frozen_weights = std::is_same_v<Weights, Frozen>;

/// What a layer's vectors are made of: the layer's T, and float where T is Frozen.
template <class T>
using element_of = std::conditional_t<frozen_weights<T>, float, T>;

/// Whether a model's weights are frozen, as far as it says.
template <class Model>
inline constexpr bool is_frozen_model = false;
template <class Model>
requires(requires {
  typename Model::weights_type;
}) inline constexpr bool is_frozen_model<Model> = frozen_weights<typename Model::weights_type>;

/// X is a tensor of T on Backend.
template <class X, class T, class Backend>
inline constexpr bool features_of = false;
template <class T, class S, class Backend>
inline constexpr bool features_of<Tensor<T, S, Backend>, T, Backend> = true;

/// X is a tensor [..., D] of T on Backend, as far as the constants tell.
template <class X, std::int64_t D, class T, class Backend>
inline constexpr bool stream_of = false;
template <std::int64_t D, class T, class S, class Backend>
inline constexpr bool stream_of<Tensor<T, S, Backend>, D, T, Backend> = S::rank > 0 && (S::static_extent(S::rank - 1) == D ||
                                                                                        S::static_extent(S::rank - 1) == dyn);
}  // namespace detail

/// What a parameter is, which decides how it is initialised.
enum class ParameterKind : std::uint8_t { matrix, residual_output, gain, bias };

/// Where a parameter stands: in which layer, or -1, and in which expert of it, or -1; the pieces of its name, empty ones left out.
struct ParameterPlace {
  std::int64_t layer = -1;
  std::array<const char*, 3> path = {};  // the number of the expert follows the first piece
  std::int64_t expert = -1;
};

/// What a parameter is called and how large it is. Names follow the published Llama and Qwen checkpoints.
class ParameterFacts {
 public:
  /// "model.layers.0.mlp.experts.3.gate_proj.weight"; made on request, so that listing parameters allocates nothing.
  std::string name() const {
    std::string text = layer() < 0 ? "" : detail::concat("model.layers.", layer());
    for (const char* const& piece : place_.path) {
      if (*piece == '\0') continue;
      if (!text.empty()) text += '.';
      text += piece;
      if (expert() >= 0 && &piece == place_.path.data()) text += detail::concat(".", expert());
    }
    return text;
  }
  /// The layer it belongs to, or -1.
  std::int64_t layer() const { return place_.layer; }
  /// The expert of that layer, or -1.
  std::int64_t expert() const { return place_.expert; }
  ParameterKind kind() const { return kind_; }
  std::span<const std::int64_t> shape() const { return {extents_, static_cast<std::size_t>(rank_)}; }
  std::int64_t numel() const { return rank_ == 2 ? extents_[0] * extents_[1] : extents_[0]; }
  /// Matrices are decayed by AdamW, gains and biases are not.
  bool is_matrix() const { return rank_ == 2; }

 protected:
  template <class S>
  ParameterFacts(const S& shape, ParameterKind kind, const ParameterPlace& place) : kind_(kind), place_(place), rank_(S::rank) {
    static_assert(S::rank == 1 || S::rank == 2, "llm::ParameterView: parameters are vectors or matrices");
    for (int i = 0; i < S::rank; ++i) extents_[i] = shape.extent(i);
  }

 private:
  ParameterKind kind_;
  ParameterPlace place_;
  int rank_;
  std::int64_t extents_[2] = {0, 0};
};

/// One parameter of a model that is const: name, shape and elements, whatever its static type. Shares memory with the model.
template <class T, class Backend>
class ConstParameterView : public ParameterFacts {
 public:
  /// All elements, flat.
  const Tensor<T, Shape<dyn>, Backend>& tensor() const { return tensor_; }

  static constexpr DType format() { return dtype_of<T>; }
  /// Elements of rows [first, first + count), for a vector elements, to the host.
  template <class Out>
  void copy_rows(std::int64_t first, std::int64_t count, Out* out) const {
    std::vector<T> values(static_cast<std::size_t>(count * (is_matrix() ? shape()[1] : 1)));
    copy_bytes(first, count, reinterpret_cast<std::byte*>(values.data()));
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<Out>(values[i]);
  }
  /// The same as they are, in format().
  void copy_bytes(std::int64_t first, std::int64_t count, std::byte* out) const {
    const std::int64_t width = is_matrix() ? shape()[1] : 1;
    Backend::memory::copy_to_host(out, tensor_.data() + first * width, static_cast<std::size_t>(count * width) * sizeof(T));
  }

 protected:
  template <class S>
  ConstParameterView(const Tensor<T, S, Backend>& tensor, ParameterKind kind, const ParameterPlace& place)
      : ParameterFacts(tensor.shape(), kind, place), tensor_(tensor.template view<Shape<dyn>>({tensor.numel()})) {}

  Tensor<T, Shape<dyn>, Backend> tensor_;
};

/// The same of a model that is not: elements and gradient may be changed.
template <class T, class Backend>
class ParameterView : public ConstParameterView<T, Backend> {
 public:
  template <class S>
  ParameterView(const Tensor<T, S, Backend>& tensor, ParameterKind kind, const ParameterPlace& place)
      : ConstParameterView<T, Backend>(tensor, kind, place) {}

  using ConstParameterView<T, Backend>::tensor;
  Tensor<T, Shape<dyn>, Backend>& tensor() { return this->tensor_; }

  /// Overwrites all elements with those of `bytes`, row-major in any format that is computed with; rounds once where T is narrower.
  /// Throws ShapeError when the number of bytes is not theirs.
  void assign(DType format, std::span<const std::byte> bytes) { detail::assign_decoded(this->tensor_, format, bytes); }
};

namespace detail {

/// A parameter with uninitialised elements, tracked unless T is Frozen; for an empty type (no bias) nothing.
template <class P, class T = void>
P make_parameter() {
  if constexpr (std::is_empty_v<P>)
    return P{};
  else if constexpr (frozen_weights<T>)
    return P::empty();
  else
    return P::empty().track();
}

/// What training needs of a model: its parameters can be listed, and have gradients.
template <class Model>
concept ListsParameters = !is_frozen_model<Model> && requires(Model & model) {
  typename Model::T;
  typename Model::backend_type;
  model.for_each_parameter([](auto&) {});
};

}  // namespace detail
}  // namespace llm
