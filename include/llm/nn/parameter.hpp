// Parameters: how weights are kept, and the view under which a model lists them.
#pragma once

#include <array>
#include <span>
#include <string>

#include <llm/tensor/tensor.hpp>

namespace llm {

/// Weights that training changes, stored and computed in T (float, double, or bf16 with f32 master weights in the optimizer).
template <class T = float>
struct Trainable {
  using value_type = T;
};

/// Weights for inference: each matrix carries its storage format as a run-time tag; activations are f32.
struct Frozen {
  using value_type = float;
};

namespace detail {
template <class Weights>
inline constexpr bool trainable_weights = false;
template <class T>
inline constexpr bool trainable_weights<Trainable<T>> = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bf16>;

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

/// One parameter of a model: name, shape, elements and gradient, whatever its static type. Shares memory with the model.
/// Names follow the published Llama checkpoints.
template <class T, class Backend>
class ParameterView {
 public:
  template <class S>
  ParameterView(const Tensor<T, S, Backend>& tensor, ParameterKind kind, std::int64_t layer, std::array<const char*, 3> path)
      : tensor_(tensor.template view<Shape<dyn>>({tensor.numel()})), kind_(kind), layer_(layer), path_(path), rank_(S::rank) {
    static_assert(S::rank == 1 || S::rank == 2, "llm::ParameterView: parameters are vectors or matrices");
    for (int i = 0; i < S::rank; ++i) extents_[i] = tensor.extent(i);
  }

  /// "model.layers.0.self_attn.q_proj.weight"; made on request, so that listing parameters allocates nothing.
  std::string name() const {
    std::string text = layer_ < 0 ? "" : detail::concat("model.layers.", layer_);
    for (const char* const piece : path_) {
      if (*piece == '\0') continue;
      if (!text.empty()) text += '.';
      text += piece;
    }
    return text;
  }
  /// The layer it belongs to, or -1.
  std::int64_t layer() const { return layer_; }
  ParameterKind kind() const { return kind_; }
  std::span<const std::int64_t> shape() const { return {extents_, static_cast<std::size_t>(rank_)}; }
  std::int64_t numel() const { return tensor_.numel(); }
  /// Matrices are decayed by AdamW, gains and biases are not.
  bool is_matrix() const { return rank_ == 2; }
  /// All elements, flat.
  Tensor<T, Shape<dyn>, Backend>& tensor() { return tensor_; }
  const Tensor<T, Shape<dyn>, Backend>& tensor() const { return tensor_; }

 private:
  Tensor<T, Shape<dyn>, Backend> tensor_;
  ParameterKind kind_;
  std::int64_t layer_;
  std::array<const char*, 3> path_;  // joined by dots, empty pieces left out
  int rank_;
  std::int64_t extents_[2] = {0, 0};
};

namespace detail {

/// A tracked parameter with uninitialised elements; for an empty type (no bias) nothing.
template <class P>
P make_parameter() {
  if constexpr (std::is_empty_v<P>)
    return P{};
  else
    return P::empty().track();
}

/// What training needs of a model: its parameters can be listed.
template <class Model>
concept ListsParameters = requires(Model& model) {
  typename Model::T;
  typename Model::backend_type;
  model.for_each_parameter([](auto&) {});
};

}  // namespace detail
}  // namespace llm
