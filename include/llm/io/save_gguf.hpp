// Writes a model that is in memory as a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/quant.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/hf_config_writer.hpp>
#include <llm/io/published_config.hpp>

namespace llm {

namespace detail::gguf {

/// The parameters of a model as tensors under the library's own names; their rows are read when they are written.
template <class Model>
class ModelTensors {
 public:
  explicit ModelTensors(const Model& model) {
    model.for_each_parameter([&](const auto& p) { parameters_.push_back(p); });
    names_.reserve(parameters_.size());  // tensors view them
    for (const View& p : parameters_) {
      names_.push_back(p.name());
      found_.push_back({.name = names_.back(),
                        .dtype = to_string(p.format()),
                        .shape = p.shape(),
                        .size = storage_bytes(p.format(), p.numel()),
                        .file = "the model",
                        .format = p.format()});
    }
  }
  ModelTensors(const ModelTensors&) = delete;
  ModelTensors& operator=(const ModelTensors&) = delete;

  const std::vector<FoundTensor>& found() const { return found_; }

  const std::byte* row(const FoundTensor& tensor, std::int64_t row, std::size_t bytes, std::byte* room) const {
    const View& p = parameters_[static_cast<std::size_t>(&tensor - found_.data())];
    p.copy_bytes(row, static_cast<std::int64_t>(bytes) / storage_bytes(p.format(), p.is_matrix() ? p.shape()[1] : 1), room);
    return room;
  }

 private:
  using View = typename Model::ConstView;

  std::vector<View> parameters_;
  std::vector<std::string> names_;
  std::vector<FoundTensor> found_;
};

}  // namespace detail::gguf

/// Writes a model, trainable or frozen, as a GGUF file that llama.cpp loads: the keys of the architecture that its config is of, `more`
/// metadata (a name, the tokenizer: see set_gguf_tokenizer), and its parameters. Without options.format each matrix keeps its format; f64
/// becomes f32. The model needs no second copy in memory. The file appears in one atomic step.
/// Throws ConfigError when no family has such a model or GGUF cannot say what it is, ValueError for families that are not written,
/// NumericError, naming the parameter, for weights that are not finite or that a format cannot hold, FileError when the system fails.
template <class Model>
void save_gguf(const std::string& path, const Model& model, const GgufMetadata& more = {}, const GgufWriteOptions& options = {}) {
  const PublishedConfig published{Model::config, hf_family_of(Model::config), "the model"};
  const detail::gguf::ModelTensors tensors(model);
  GgufMetadata metadata = more;
  if (!more.find("tokenizer.ggml.model")) metadata.set("tokenizer.ggml.model", "no_vocab");
  GgufWriteOptions formats = options;
  if (!options.format) formats.format = [](const PlannedTensor&, DType stored) { return stored == DType::f64 ? DType::f32 : stored; };
  detail::gguf::write_model(path, published, TensorNames::library, tensors.found(),
                            {[&](const FoundTensor& tensor, std::int64_t row, std::size_t bytes, std::byte* room) {
                               return tensors.row(tensor, row, bytes, room);
                             },
                             true},
                            metadata, formats);
}

}  // namespace llm
