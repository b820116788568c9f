// Where a parameter of a model stands in the files of its family: which tensor, which of its rows, in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/tensor_naming.hpp>
#include <llm/model/config.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

/// How the rotated elements of a head change places between two conventions of RoPE.
enum class RopeReorder : std::uint8_t { none, half_from_interleaved, interleaved_from_half };

/// Part of a tensor of a file: its rows, for a vector its elements, in the order in which the parameter has them.
struct ParameterSource {
  std::string tensor;
  std::int64_t first_row = 0;
  std::int64_t head_width = 0;   // rows of a head, or 0: the rows belong to no heads
  std::int64_t head_stride = 0;  // rows from one head to the next
  std::int64_t rotated = 0;      // so many rows of a head, from its start, are reordered
  RopeReorder reorder = RopeReorder::none;
  bool transposed = false;  // the tensor is stored [in, out]
  double add = 0.0;         // to every element: gains stored as w or as 1 + w

  /// The file's row that is row `row` of the parameter.
  constexpr std::int64_t row(std::int64_t row) const {
    if (head_width == 0) return first_row + row;
    const std::int64_t head = row / head_width, at = row % head_width, half = rotated / 2;
    std::int64_t from = at;
    if (at < rotated && reorder == RopeReorder::half_from_interleaved) from = at % half * 2 + at / half;
    if (at < rotated && reorder == RopeReorder::interleaved_from_half) from = at % 2 * half + at / 2;
    return first_row + head * head_stride + from;
  }
  /// Whether the rows stand in the file one behind the other as the parameter has them.
  constexpr bool in_order() const {
    return !transposed && (head_width == 0 || (head_stride == head_width && reorder == RopeReorder::none));
  }
};

namespace detail {

/// What rows of rotated heads go through from files of one convention to a model, or other files, of another.
constexpr RopeReorder reorder_between(Position from, Position to) {
  if (from == to) return RopeReorder::none;
  return to == Position::rope_half ? RopeReorder::half_from_interleaved : RopeReorder::interleaved_from_half;
}

/// Lets the rows of a tensor of queries or keys - a matrix, its bias, a gain - change places, head by head.
inline void reorder_heads(ParameterSource& source, const Config& config, RopeReorder reorder) {
  if (reorder == RopeReorder::none) return;
  if (source.head_width == 0) source.head_width = source.head_stride = config.head_width();
  source.rotated = config.rope_width();
  source.reorder = reorder;
}

/// A module of LLM's layers and what naming tables call it.
struct LayerModule {
  std::string_view module;
  std::string_view TensorNaming::*name;
};
inline constexpr std::array<LayerModule, 15> layer_modules{{{"input_layernorm", &TensorNaming::attention_norm},
                                                            {"post_attention_layernorm", &TensorNaming::mlp_norm},
                                                            {"attention_result_norm", &TensorNaming::attention_post_norm},
                                                            {"mlp_result_norm", &TensorNaming::mlp_post_norm},
                                                            {"self_attn.q_proj", &TensorNaming::q},
                                                            {"self_attn.k_proj", &TensorNaming::k},
                                                            {"self_attn.v_proj", &TensorNaming::v},
                                                            {"self_attn.o_proj", &TensorNaming::o},
                                                            {"self_attn.q_norm", &TensorNaming::q_norm},
                                                            {"self_attn.k_norm", &TensorNaming::k_norm},
                                                            {"mlp.gate_proj", &TensorNaming::gate},
                                                            {"mlp.up_proj", &TensorNaming::up},
                                                            {"mlp.down_proj", &TensorNaming::down},
                                                            {"mlp.gate", &TensorNaming::router},
                                                            {"mlp.shared_expert_gate", &TensorNaming::shared_router}}};

/// A matrix of a gated MLP by its role: what it is called alone, among an expert's and among the shared ones', and in which stacked tensor.
struct ExpertMatrix {
  std::string_view name;
  std::string_view TensorNaming::*expert, TensorNaming::*shared, TensorNaming::*stacked;
};
inline constexpr std::array<ExpertMatrix, 3> expert_matrices{
    {{"gate_proj", &TensorNaming::expert_gate, &TensorNaming::shared_gate_proj, &TensorNaming::stacked_gate},
     {"up_proj", &TensorNaming::expert_up, &TensorNaming::shared_up_proj, &TensorNaming::stacked_up},
     {"down_proj", &TensorNaming::expert_down, &TensorNaming::shared_down_proj, &TensorNaming::stacked_down}}};

/// Finds sources: for a model of config `target`, in files of config `file`.
class SourceFinder {
 public:
  SourceFinder(const Config& target, const Config& file, Family family, TensorLayout layout)
      : file_(file), family_(family), own_names_(layout.names == TensorNames::library), n_(naming_of(family, layout)) {
    if (target.rotary()) reorder_ = reorder_between(file.position, target.position);
  }

  ParameterSource operator()(const ParameterFacts& p) const {
    const std::string name = p.name();
    const std::size_t dot = name.rfind('.');
    if (p.layer() >= 0) {
      const std::string at = concat("model.layers.", p.layer(), ".");
      ParameterSource source = of_layer(p, std::string_view(name).substr(at.size(), dot - at.size()), name.substr(dot));
      source.tensor = concat(n_.prefix, n_.layers, p.layer(), ".", source.tensor);
      if (p.kind() == ParameterKind::gain) source.add = added_to_gains();
      return source;
    }
    ParameterSource source = of_model(name.substr(0, dot));
    if (name.starts_with("model.norm")) source.tensor += name.substr(dot);
    if (p.kind() == ParameterKind::gain) source.add = added_to_gains();
    return source;
  }

 private:
  /// A model and this library's checkpoints of it have gains as they are, whatever its config says of published files.
  double added_to_gains() const { return file_.norm_gain_offset && !own_names_ ? 1.0 : 0.0; }

  ParameterSource of_model(std::string_view module) const {
    if (module == "model.embed_tokens") return {concat(n_.prefix, n_.embedding)};
    if (module == "model.embed_positions") return {concat(n_.prefix, n_.positions)};
    if (module == "model.norm") return {concat(n_.prefix, n_.final_norm)};
    if (module == "lm_head") return {std::string(n_.head)};
    fail(module);
  }

  ParameterSource of_layer(const ParameterFacts& p, std::string_view module, const std::string& leaf) const {
    if (p.expert() >= 0) return of_expert(p, module.substr(module.rfind('.') + 1), leaf);
    if (module.starts_with("mlp.shared_expert.")) return of_shared_expert(module.substr(module.rfind('.') + 1), leaf);
    if (leaf == ".e_score_correction_bias") return {known(n_.router_bias, module)};
    for (const LayerModule& layer : layer_modules) {
      if (layer.module != module) continue;
      ParameterSource source{std::string(n_.*layer.name)};
      if (!n_.qkv.empty()) joined_qkv(source, module);
      if (!n_.gate_up.empty() && (module == "mlp.gate_proj" || module == "mlp.up_proj"))
        source = {std::string(n_.gate_up), module == "mlp.up_proj" ? file_.ffn_dim : 0};
      heads(source, module);
      source.transposed = n_.in_out && module.ends_with("_proj");
      if (source.tensor.empty()) fail(module);
      source.tensor += leaf;
      return source;
    }
    fail(module);
  }

  /// A tensor of its own, or rows of one that holds all experts of the layer, one behind the other.
  ParameterSource of_expert(const ParameterFacts& p, std::string_view matrix, const std::string& leaf) const {
    const ExpertMatrix& which = expert_matrix(matrix);
    if (n_.stacked_down.empty()) return {concat(known(n_.experts, matrix), p.expert(), ".", n_.*which.expert, leaf)};
    const std::int64_t rows = p.shape()[0];
    if (matrix == "down_proj" || n_.stacked_gate_up.empty()) return {std::string(n_.*which.stacked), p.expert() * rows};
    return {std::string(n_.stacked_gate_up), (2 * p.expert() + (matrix == "up_proj" ? 1 : 0)) * rows};
  }
  ParameterSource of_shared_expert(std::string_view matrix, const std::string& leaf) const {
    return {concat(known(n_.shared, matrix), n_.*expert_matrix(matrix).shared, leaf)};
  }
  const ExpertMatrix& expert_matrix(std::string_view name) const {
    for (const ExpertMatrix& matrix : expert_matrices)
      if (matrix.name == name) return matrix;
    fail(name);
  }
  std::string known(std::string_view name, std::string_view module) const {
    if (name.empty()) fail(module);
    return std::string(name);
  }

  /// One matrix of queries, keys and values, behind each other; GPT-NeoX has them so for each head.
  void joined_qkv(ParameterSource& source, std::string_view module) const {
    constexpr std::array<std::string_view, 3> parts{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    const std::int64_t width = file_.head_width(), q = file_.q_dim(), kv = file_.kv_dim();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (module != parts[i]) continue;
      source.tensor = n_.qkv;
      source.first_row = std::array{std::int64_t{0}, q, q + kv}[i];
      if (family_ != Family::gpt_neox) continue;
      source.first_row = static_cast<std::int64_t>(i) * width;
      source.head_width = width;
      source.head_stride = 3 * width;
    }
  }

  /// What belongs to query and key heads follows the convention of RoPE: their rows, biases, and gains.
  void heads(ParameterSource& source, std::string_view module) const {
    const bool rotated =
        module == "self_attn.q_proj" || module == "self_attn.k_proj" || module == "self_attn.q_norm" || module == "self_attn.k_norm";
    if (rotated) reorder_heads(source, file_, reorder_);
  }

  [[noreturn]] void fail(std::string_view module) const {
    throw ConfigError(concat("llm::load: files of the family ", to_string(family_), " have no place for ", in_quotes(module)));
  }

  const Config& file_;
  Family family_;
  bool own_names_;
  TensorNaming n_;
  RopeReorder reorder_ = RopeReorder::none;
};

}  // namespace detail
}  // namespace llm
