// Writes a whole model as a GGUF file, from tensors under the names of any of its files, in any format, tensor by tensor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/gguf_config_writer.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/io/gguf_plan.hpp>
#include <llm/io/gguf_rows.hpp>
#include <llm/io/gguf_writer.hpp>
#include <llm/io/name_order.hpp>
#include <llm/io/on_threads.hpp>
#include <llm/io/page_release.hpp>
#include <llm/io/parameter_source.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/tensor_check.hpp>

namespace llm {

/// A tensor that has been written.
struct WrittenTensor {
  std::string_view name;
  DType from = DType::f32, to = DType::f32;
  std::int64_t elements = 0, bytes = 0;
  double squared_error = 0, squared_sum = 0;  // of what was written against the source, and of the source
};

struct GgufWriteOptions {
  /// The format of a tensor that is no vector, by its name in the GGUF file and what it is stored in; without it formats stay.
  /// Vectors are f32, as readers of the format expect them.
  std::function<DType(const PlannedTensor&, DType stored)> format = {};
  /// Called after each tensor.
  std::function<void(const WrittenTensor&)> progress = {};
  int threads = 1;  // that encode; the file does not depend on it
};

namespace detail::gguf {

/// Writes the tensors of a plan one by one.
class ModelWriter {
 public:
  ModelWriter(std::vector<PlannedTensor> plan, std::span<const FoundTensor> tensors, const RowReader& reader,
              const GgufWriteOptions& options)
      : plan_(std::move(plan)),
        tensors_(tensors),
        reader_(reader),
        options_(options),
        order_(order_by_name(tensors, [](const FoundTensor& t) { return t.name; })) {
    for (const PlannedTensor& planned : plan_) {
      for (const ParameterSource& part : planned.parts) require_weights(planned, part);
      const DType stored = source(planned.parts.front().tensor).dtype;
      DType to = DType::f32;
      if (!planned.vector()) to = options_.format ? options_.format(planned, stored) : stored;
      formats_.push_back(to);
    }
  }

  std::vector<GgufTensorToWrite> heads() const {
    std::vector<GgufTensorToWrite> out;
    for (std::size_t i = 0; i < plan_.size(); ++i) out.push_back({plan_[i].name, formats_[i], plan_[i].shape});
    return out;
  }

  void write_to(GgufWriter& writer) const {
    for (std::size_t i = 0; i < plan_.size(); ++i) write(writer, plan_[i], formats_[i]);
  }

 private:
  const FoundTensor& find(std::string_view name) const {
    const FoundTensor* tensor = find_by_name(tensors_, order_, name, [](const FoundTensor& t) { return t.name; });
    if (tensor == nullptr) throw ValueError(concat("llm::write_gguf: there is no tensor ", in_quotes(name)));
    return *tensor;
  }
  SourceTensor source(std::string_view name) const {
    const FoundTensor& tensor = find(name);
    return {&tensor, *tensor.format};
  }

  void require_weights(const PlannedTensor& planned, const ParameterSource& part) const {
    const FoundTensor& tensor = find(part.tensor);
    if (const std::string fault = fault_as_weights(tensor, planned.columns(), part.transposed); !fault.empty())
      throw FileError(concat("llm::write_gguf: ", tensor.file, ": tensor ", in_quotes(tensor.name), " ", fault));
  }

  void write(GgufWriter& writer, const PlannedTensor& planned, DType to) const {
    std::vector<SourceTensor> parts;
    for (const ParameterSource& part : planned.parts) parts.push_back(source(part.tensor));
    WrittenTensor written{planned.name, parts.front().dtype, to, elements_of(planned.shape), 0, 0, 0};
    const RowMaker maker(planned, parts, to, reader_);
    constexpr std::int64_t at_once = std::int64_t{1} << 20;  // elements
    const std::int64_t group = (std::max)(std::int64_t{1}, at_once / (std::max)(std::int64_t{1}, maker.columns()));
    std::vector<std::byte> bytes;
    std::vector<double> errors, sums;
    const std::int64_t rows = written.elements == 0 ? 0 : maker.rows();  // of no elements there may be any number of rows
    for (std::int64_t first = 0; first < rows; first += group) {
      const std::int64_t count = (std::min)(group, rows - first);
      bytes.resize(static_cast<std::size_t>(count) * maker.row_bytes());
      errors.assign(static_cast<std::size_t>(count), 0), sums.assign(static_cast<std::size_t>(count), 0);
      try {
        for_each_on_threads(count, options_.threads, [&](std::int64_t i) {
          const auto at = static_cast<std::size_t>(i);
          maker.make(first + i, bytes.data() + at * maker.row_bytes(), errors[at], sums[at]);
        });
      } catch (const NumericError& error) {
        throw NumericError(concat("llm::write_gguf: ", parts.front().tensor->file, ": tensor ", in_quotes(parts.front().tensor->name), ": ",
                                  error.what()));
      }
      writer.write(bytes);
      written.bytes += static_cast<std::int64_t>(bytes.size());
      for (std::size_t i = 0; i < errors.size(); ++i) written.squared_error += errors[i], written.squared_sum += sums[i];
    }
    for (const SourceTensor& part : parts)
      if (part.tensor->mapped) os::release_pages(part.tensor->bytes.data(), part.tensor->bytes.size());
    if (options_.progress) options_.progress(written);
  }

  std::vector<PlannedTensor> plan_;
  std::span<const FoundTensor> tensors_;
  const RowReader& reader_;
  const GgufWriteOptions& options_;
  std::vector<std::size_t> order_;
  std::vector<DType> formats_;
};

/// Throws unless the tensors are those of the model.
inline TensorLayout checked_layout(const PublishedConfig& model, TensorNames names, std::span<const FoundTensor> tensors) {
  const TensorCheck check = check_tensors(model, names, tensors);
  if (check.matches()) return check.layout;
  throw FileError(concat("llm::write_gguf: the tensors are not those of ", model.source, ": ", check.text()));
}

/// What llama.cpp calls the file by: the number of the format that most elements have.
inline std::uint32_t file_type(std::span<const GgufTensorToWrite> tensors) {
  std::vector<std::int64_t> elements(dtype_count, 0);
  for (const GgufTensorToWrite& tensor : tensors)
    if (tensor.shape.size() > 1) elements[static_cast<std::size_t>(tensor.dtype)] += elements_of(tensor.shape);
  switch (static_cast<DType>(std::max_element(elements.begin(), elements.end()) - elements.begin())) {
    case DType::f16:
      return 1;
    case DType::q4_0:
      return 2;
    case DType::q4_1:
      return 3;
    case DType::q8_0:
      return 7;
    case DType::q5_0:
      return 8;
    case DType::q5_1:
      return 9;
    case DType::q2_k:
      return 10;
    case DType::q3_k:
      return 12;
    case DType::q4_k:
      return 15;
    case DType::q5_k:
      return 17;
    case DType::q6_k:
      return 18;
    case DType::bf16:
      return 32;
    default:
      return 0;
  }
}

inline void write_planned(const std::string& path, GgufMetadata metadata, std::vector<PlannedTensor> plan,
                          std::span<const FoundTensor> tensors, const RowReader& reader, const PublishedConfig* model,
                          const GgufWriteOptions& options) {
  const ModelWriter source(std::move(plan), tensors, reader, options);
  std::vector<GgufTensorToWrite> heads = source.heads();
  metadata.set("general.quantization_version", std::uint32_t{2});
  metadata.set("general.file_type", file_type(heads));
  const bool divisors = model != nullptr && model->config.rope_scaling.kind == RopeScalingKind::llama3;
  std::string first;
  if (divisors) {
    first = rope_divisors(model->config);
    heads.insert(heads.begin(), {std::string(key::rope_freqs_tensor), DType::f32, {model->config.rope_width() / 2}});
  }
  if (model) {
    const std::string beginning = header(metadata, heads) + first;
    check_gguf_config(*model, std::as_bytes(std::span(beginning.data(), beginning.size())));
  }
  GgufWriter writer(path, metadata, std::move(heads));
  writer.write(std::as_bytes(std::span(first.data(), first.size())));
  source.write_to(writer);
  writer.commit();
}

/// A model's file, of tensors whose rows `reader` finds.
inline void write_model(const std::string& path, const PublishedConfig& model, TensorNames names, std::span<const FoundTensor> tensors,
                        const RowReader& reader, const GgufMetadata& more, const GgufWriteOptions& options) {
  GgufMetadata metadata = gguf_metadata(model);
  for (const GgufMetadata::Pair& pair : more.pairs()) metadata.set(pair.key, pair.value);
  write_planned(path, std::move(metadata), plan_gguf(model, checked_layout(model, names, tensors)), tensors, reader, &model, options);
}

}  // namespace detail::gguf

/// Writes a model as a GGUF file that llama.cpp loads: the keys of its architecture, `more` metadata (a name, the tokenizer: see
/// set_gguf_tokenizer), and its tensors under GGUF's names and in its order of rows. The source are tensors with the names and shapes of
/// a published directory or of a checkpoint of this library, in any format; they are read row by row. The file appears in one atomic step.
/// Throws FileError when the tensors are not those of the config or the system fails, ValueError for families that are not written,
/// ConfigError when GGUF cannot say what the model is, NumericError for values that a format cannot hold.
inline void write_gguf(const std::string& path, const PublishedConfig& model, TensorNames names, std::span<const FoundTensor> tensors,
                       const GgufMetadata& more = {}, const GgufWriteOptions& options = {}) {
  detail::gguf::write_model(path, model, names, tensors, detail::gguf::rows_in_memory(), more, options);
}

/// Writes a GGUF file's model again with other formats: all its metadata, and all its tensors as they lie.
/// Throws FileError when a tensor is of a type that the library does not read, and as the other.
inline void write_gguf(const std::string& path, const GgufFile& source, const GgufWriteOptions& options = {}) {
  namespace gg = detail::gguf;
  if (!source.unsupported().empty()) source.find(source.unsupported().front().name);  // throws
  std::vector<PlannedTensor> plan;
  std::vector<FoundTensor> tensors;
  for (const GgufEntry& tensor : source.tensors()) {
    plan.push_back({.name = tensor.name, .shape = tensor.shape, .parts = {{.tensor = tensor.name}}});
    tensors.push_back({.name = tensor.name,
                       .dtype = gg::element_types[gg::element_type_number(tensor.dtype)].name,
                       .shape = tensor.shape,
                       .size = static_cast<std::int64_t>(tensor.bytes.size()),
                       .bytes = tensor.bytes,
                       .file = source.path(),
                       .mapped = source.mapped(),
                       .format = tensor.dtype});
  }
  gg::write_planned(path, GgufMetadata(source), std::move(plan), tensors, gg::rows_in_memory(), nullptr, options);
}

}  // namespace llm
