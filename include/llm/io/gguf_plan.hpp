// Which rows of a model's files the tensors of a GGUF file are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/gguf_config_writer.hpp>
#include <llm/io/parameter_source.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/tensor_naming.hpp>
#include <llm/model/config.hpp>

namespace llm {

/// One tensor of a GGUF file: its rows are those of its parts, one part after the other, all of one size. A vector has rows of one element.
struct PlannedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  std::vector<ParameterSource> parts;

  bool vector() const { return shape.size() <= 1; }
  std::int64_t columns() const { return vector() ? 1 : shape.back(); }
  std::int64_t rows() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i + (vector() ? 0 : 1) < shape.size(); ++i) count *= shape[i];
    return count;
  }
  /// Where row r comes from: the number of a part, and the row of its tensor.
  std::pair<std::size_t, std::int64_t> origin(std::int64_t r) const {
    const std::int64_t rows_of_part = rows() / static_cast<std::int64_t>(parts.size());
    const auto part = static_cast<std::size_t>(r / rows_of_part);
    return {part, parts[part].row(r % rows_of_part)};
  }
};

namespace detail::gguf {

/// Walks the tensors of the source and of the GGUF file side by side: both name the same ones in the same order, but for experts, which
/// GGUF has in one tensor for all, and GPT-2's queries, keys and values, which it has joined and checkpoints of this library apart.
class Planner {
 public:
  Planner(const PublishedConfig& model, TensorLayout source) : config_(model.config) {
    source_ = expected_tensors(config_, model.family, source);
    wanted_ = expected_tensors(config_, model.family, {.names = TensorNames::gguf});
    stacked_ = source.stacked;
    const TensorNaming naming = naming_of(model.family, source.names);
    in_out_ = naming.in_out;
    joins_qkv_ = naming.qkv.empty() && !naming_of(model.family, TensorNames::gguf).qkv.empty();
    if (config_.rotary()) reorder_ = reorder_between(config_.position, gguf_config(model).position);
  }

  std::vector<PlannedTensor> plan() {
    while (at_ < wanted_.size()) {
      const ExpectedTensor& tensor = wanted_[at_];
      if (!tensor.copy_of.empty()) {  // a tied head is the embedding
        ++at_, ++next_;
      } else if (tensor.name.ends_with("ffn_gate_exps.weight")) {
        experts();
      } else if (joins_qkv_ && tensor.name.ends_with(".attn_qkv.weight")) {
        join_qkv();
      } else {
        ParameterSource source{.tensor = take().name};
        reorder(tensor, source);
        source.transposed = in_out_ && tensor.shape.size() == 2 && tensor.name.starts_with("blk.");
        plan_.push_back({tensor.name, tensor.shape, {std::move(source)}});
        ++at_;
      }
    }
    return std::move(plan_);
  }

 private:
  const ExpectedTensor& take() {
    if (next_ == source_.size()) throw ValueError("llm::plan_gguf: the source has fewer tensors than the GGUF file");
    return source_[next_++];
  }

  void reorder(const ExpectedTensor& tensor, ParameterSource& source) const {
    for (const std::string_view name :
         {".attn_q.weight", ".attn_k.weight", ".attn_q.bias", ".attn_k.bias", ".attn_q_norm.weight", ".attn_k_norm.weight"})
      if (tensor.name.ends_with(name)) reorder_heads(source, config_, reorder_);
  }

  /// A layer's matrices of queries, keys and values, which are of one size where GGUF joins them, and their biases.
  void join_qkv() {
    PlannedTensor tensors[2];
    const std::size_t count = config_.qkv_bias ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) tensors[i].name = wanted_[at_].name, tensors[i].shape = wanted_[at_].shape, ++at_;
    for (int part = 0; part < 3; ++part)
      for (std::size_t i = 0; i < count; ++i) tensors[i].parts.push_back({.tensor = take().name});
    for (std::size_t i = 0; i < count; ++i) plan_.push_back(std::move(tensors[i]));
  }

  /// Gate, up and down of all experts of a layer.
  void experts() {
    const std::int64_t count = config_.experts.count, width = config_.expert_ffn_dim();
    PlannedTensor tensors[3];
    for (PlannedTensor& tensor : tensors) tensor.name = wanted_[at_].name, tensor.shape = wanted_[at_].shape, ++at_;
    if (stacked_) {
      const std::string gate_up = take().name, down = take().name;
      for (std::int64_t i = 0; i < count; ++i) {
        tensors[0].parts.push_back({.tensor = gate_up, .first_row = 2 * width * i});
        tensors[1].parts.push_back({.tensor = gate_up, .first_row = 2 * width * i + width});
        tensors[2].parts.push_back({.tensor = down, .first_row = config_.d_model * i});
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        for (PlannedTensor& tensor : tensors) tensor.parts.push_back({.tensor = take().name});
    }
    for (PlannedTensor& tensor : tensors) plan_.push_back(std::move(tensor));
  }

  const Config& config_;
  std::vector<ExpectedTensor> source_, wanted_;
  bool stacked_ = false, in_out_ = false, joins_qkv_ = false;
  RopeReorder reorder_ = RopeReorder::none;
  std::size_t at_ = 0, next_ = 0;
  std::vector<PlannedTensor> plan_;
};

}  // namespace detail::gguf

/// The tensors of a model's GGUF file, in order, each with where its rows stand in files of this layout. A tied head is left out.
/// Throws ValueError for families that are not written, ConfigError when the family has no name for a part of the model.
inline std::vector<PlannedTensor> plan_gguf(const PublishedConfig& model, TensorLayout source) {
  return detail::gguf::Planner(model, source).plan();
}

}  // namespace llm
