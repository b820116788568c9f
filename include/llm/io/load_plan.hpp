// What is checked before a model is filled from files, and where each parameter's elements then come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/core/quant.hpp>
#include <llm/io/checkpoint_files.hpp>
#include <llm/io/parameter_source.hpp>
#include <llm/io/tensor_check.hpp>
#include <llm/model/config_fields.hpp>

namespace llm {

/// How files are read by llm::load.
struct LoadOptions {
  std::string prefix = {};  // what all names of the files begin with beyond their family's: "_orig_mod.", "module."
  std::string config = {};  // the config.json of a .safetensors file that has none beside it
};

namespace detail {

/// A file's config with what loading translates made equal to the model's: the convention of RoPE, gains with or without their 1, and
/// positions that the model does not need.
inline Config translated(Config file, const Config& model) {
  if (file.rotary() && model.rotary()) file.position = model.position;
  file.norm_gain_offset = model.norm_gain_offset;
  file.max_seq_len = (std::min)(file.max_seq_len, model.max_seq_len);
  return file;
}

/// Whether the files hold a head that is an equal copy of their embedding.
inline bool has_equal_head(const CheckpointFiles& files, Family family, std::string_view prefix) {
  const TensorNaming n = naming_of(family, files.names());
  const auto find = [&](std::string_view wanted) -> const FoundTensor* {
    for (const FoundTensor& tensor : files.tensors())
      if (without_prefix(tensor.name, prefix) == wanted) return &tensor;
    return nullptr;
  };
  const FoundTensor *const head = find(n.head), *embedding = find(concat(n.prefix, n.embedding));
  if (embedding == nullptr) embedding = find(n.embedding);  // as base classes are saved
  return head != nullptr && embedding != nullptr && head->format && head->format == embedding->format && equal_bytes(*head, *embedding);
}

}  // namespace detail

/// Whether llm::load gives a model of config `model` from files of config `file`, by the configs alone.
inline bool loads_as(const Config& model, const Config& file) {
  return config_differences(detail::translated(file, model), "", model, "").empty();
}

/// The same for files that are open: a tied model is loaded, too, when they say that theirs is not tied but hold two equal matrices.
inline bool loads_as(const Config& model, const CheckpointFiles& files) {
  if (!files.model()) return false;
  Config file = files.model()->config;
  if (loads_as(model, file)) return true;
  if (!model.tie_embeddings || file.tie_embeddings) return false;
  file.tie_embeddings = true;
  return loads_as(model, file) && detail::has_equal_head(files, files.model()->family, "");
}

namespace detail {

/// Files of a model that fit a config, and the order to read them in. Making one checks everything; filling from it changes nothing but
/// the parameters.
class LoadPlan {
 public:
  /// Throws ConfigError when the files are of another config, FileError when their tensors are not those of their config.
  LoadPlan(const std::string& path, const Config& target, const LoadOptions& options)
      : path_(path), target_(target), prefix_(options.prefix), files_(CheckpointFiles::open(path)), model_(published(options)) {
    if (!files_.has_weights()) fail("holds no weights");
    order_ = order_by_name(files_.tensors(), [this](const FoundTensor& tensor) { return name(tensor); });
    require_fitting_config();
    const TensorCheck check =
        check_tensors(model_, files_.names(), files_.tensors(), {.prefix = prefix_, .compare_copies = !has_compared_head_});
    if (!check.matches()) fail(concat("the tensors are not those of the config: ", check.text()));
    layout_ = check.layout;
    for (const FoundTensor& tensor : files_.tensors())
      if (!beside_the_model(name(tensor), model_.config, model_.family, files_.names())) require_weights(tensor, 0, false);
  }

  const PublishedConfig& model() const { return model_; }

  /// Plans a parameter: call it for all, in their order, before the first fill().
  void add(const ParameterFacts& p) {
    const SourceFinder source_of(target_, model_.config, model_.family, layout_);
    Part part{source_of(p), nullptr, p.is_matrix() ? p.shape()[1] : 1, p.shape()[0]};
    part.tensor = find(part.source.tensor);
    if (part.tensor == nullptr) fail(concat("has no tensor ", in_quotes(part.source.tensor)));
    require_weights(*part.tensor, p.is_matrix() ? p.shape()[1] : 0, part.source.transposed);
    parts_.push_back(std::move(part));
  }

  /// Gives the elements of the next parameter to `assign(format, bytes)`, row-major.
  template <class Assign>
  void fill(const Assign& assign) {
    fetch_ahead();
    const Part& part = parts_[next_++];
    const FoundTensor& tensor = *part.tensor;
    const DType format = *tensor.format;
    if (part.columns == 1)
      fill_vector(part, assign);
    else if (part.source.in_order())
      assign(format, read_of(part));
    else
      assign(format, part.source.transposed ? transposed(part) : reordered(part));
    const std::span<const std::byte> bytes = read_of(part);
    if (tensor.mapped) os::release_pages(bytes.data(), bytes.size());
    fetched_bytes_ -= bytes.size();
  }

 private:
  struct Part {
    ParameterSource source;
    const FoundTensor* tensor;
    std::int64_t columns, rows;  // of the parameter; a vector has rows of one element
  };

  /// Has the system read the tensors of the next parameters while those before them are used: a disk that is asked for pages as they are
  /// touched waits most of the time.
  void fetch_ahead() {
    constexpr std::size_t enough = std::size_t{1} << 26;
    for (; fetched_ < parts_.size() && fetched_bytes_ < enough; ++fetched_) {
      const std::span<const std::byte> bytes = read_of(parts_[fetched_]);
      if (parts_[fetched_].tensor->mapped) os::fetch_pages(bytes.data(), bytes.size());
      fetched_bytes_ += bytes.size();
    }
  }

  /// What a parameter is read from: its rows where they lie together, which are few of a tensor of all experts.
  static std::span<const std::byte> read_of(const Part& part) {
    if (part.columns == 1 || !part.source.in_order()) return part.tensor->bytes;
    return part.tensor->bytes.subspan(row_bytes(part) * static_cast<std::size_t>(part.source.first_row),
                                      row_bytes(part) * static_cast<std::size_t>(part.rows));
  }

  PublishedConfig published(const LoadOptions& options) const {
    if (files_.model() && !options.config.empty()) fail(concat("already says what model it is: LoadOptions::config ", options.config));
    if (files_.model()) return *files_.model();
    if (options.config.empty())
      fail("nothing says what model it is: there is no config.json beside it (hint: LoadOptions::config names one)");
    return read_hf_config(options.config);
  }

  std::string_view name(const FoundTensor& tensor) const { return without_prefix(tensor.name, prefix_); }
  const FoundTensor* find(std::string_view wanted) const {
    return find_by_name(files_.tensors(), order_, wanted, [this](const FoundTensor& tensor) { return name(tensor); });
  }

  /// Every field must be equal, but for what is translated, and a head that the files say is not tied although it is an equal copy of the
  /// embedding.
  void require_fitting_config() {
    Config& file = model_.config;
    if (target_.tie_embeddings && !file.tie_embeddings && has_equal_head(files_, model_.family, prefix_))
      file.tie_embeddings = has_compared_head_ = true;
    const std::string differences = config_differences(translated(file, target_), "the file", target_, "the model");
    if (!differences.empty())
      throw ConfigError(concat("llm::load: ", path_, ": is of another config: ", differences,
                               " (hint: inspect --emit-config NAME writes the file's config as a header)"));
  }

  void require_weights(const FoundTensor& tensor, std::int64_t columns, bool is_transposed) const {
    if (const std::string fault = fault_as_weights(tensor, columns, is_transposed); !fault.empty())
      fail(concat("tensor ", in_quotes(tensor.name), " ", fault));
  }

  static std::size_t row_bytes(const Part& part) { return static_cast<std::size_t>(storage_bytes(*part.tensor->format, part.columns)); }

  /// Whole rows change places, so blocks stay as they are.
  std::span<const std::byte> reordered(const Part& part) {
    const std::size_t size = row_bytes(part);
    staging_.resize(size * static_cast<std::size_t>(part.rows));
    for (std::int64_t row = 0; row < part.rows; ++row)
      std::memcpy(staging_.data() + size * static_cast<std::size_t>(row),
                  part.tensor->bytes.data() + size * static_cast<std::size_t>(part.source.row(row)), size);
    return staging_;
  }

  /// The file's tensor is [columns, all rows]; single elements, in tiles so that both sides stay in the caches.
  std::span<const std::byte> transposed(const Part& part) {
    constexpr std::int64_t tile = 32;
    const auto size = static_cast<std::size_t>(block_format(*part.tensor->format).bytes);
    const std::int64_t stride = part.tensor->shape.back();
    staging_.resize(size * static_cast<std::size_t>(part.rows * part.columns));
    for (std::int64_t row_tile = 0; row_tile < part.rows; row_tile += tile)
      for (std::int64_t column_tile = 0; column_tile < part.columns; column_tile += tile)
        for (std::int64_t row = row_tile; row < (std::min)(row_tile + tile, part.rows); ++row)
          for (std::int64_t column = column_tile; column < (std::min)(column_tile + tile, part.columns); ++column)
            std::memcpy(staging_.data() + size * static_cast<std::size_t>(row * part.columns + column),
                        part.tensor->bytes.data() + size * static_cast<std::size_t>(column * stride + part.source.row(row)), size);
    return staging_;
  }

  template <class Assign>
  void fill_vector(const Part& part, const Assign& assign) {
    const std::int64_t all = elements_of(part.tensor->shape);
    std::vector<double> values(static_cast<std::size_t>(all)), chosen;
    dequantize_row(*part.tensor->format, part.tensor->bytes.data(), values.data(), all);
    for (std::int64_t row = 0; row < part.rows; ++row)
      chosen.push_back(values[static_cast<std::size_t>(part.source.row(row))] + part.source.add);
    assign(DType::f64, std::as_bytes(std::span<const double>(chosen)));
  }

  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat("llm::load: ", path_, ": ", reason)); }

  std::string path_;
  const Config& target_;
  std::string prefix_;
  CheckpointFiles files_;
  PublishedConfig model_;
  TensorLayout layout_;
  std::vector<std::size_t> order_;  // of the files' tensors, by name
  std::vector<Part> parts_;
  std::size_t next_ = 0, fetched_ = 0;  // parts: the one to fill, and the one to ask the system for
  std::size_t fetched_bytes_ = 0;       // of parts that were asked for and are not filled
  bool has_compared_head_ = false;      // with the embedding, element by element
  std::vector<std::byte> staging_;
};

/// A model of this type from files.
template <class Model>
Model model_from(const std::string& path, const LoadOptions& options) {
  LoadPlan plan(path, Model::config, options);  // first: what is refused allocates no model
  Model model = Model::uninitialised();
  model.for_each_parameter([&](const auto& p) { plan.add(p); });
  model.for_each_parameter([&](auto& p) { plan.fill([&](DType format, std::span<const std::byte> bytes) { p.assign(format, bytes); }); });
  return model;
}

}  // namespace detail
}  // namespace llm
