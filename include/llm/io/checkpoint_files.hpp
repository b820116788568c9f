// What a path to a model is: a published directory, one file, a checkpoint of ours; its config and its tensors, by their headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/gguf.hpp>
#include <llm/io/hf_config.hpp>
#include <llm/io/hf_config_writer.hpp>
#include <llm/io/json_fields.hpp>
#include <llm/io/llama2c.hpp>
#include <llm/io/paths.hpp>
#include <llm/io/published_config.hpp>
#include <llm/io/safetensors.hpp>
#include <llm/io/safetensors_format.hpp>
#include <llm/io/safetensors_index.hpp>
#include <llm/io/tensor_naming.hpp>
#include <llm/model/rules.hpp>

namespace llm {

/// The files of a model, opened and mapped: headers are read and checked, data is not. Move-only.
///
/// A path may be
/// - a directory with a config.json, and with model.safetensors, or model.safetensors.index.json and the files that it names, or no
/// weights;
/// - a directory that save_checkpoint wrote;
/// - a .safetensors file, with a config.json beside it or not, or a checkpoint of this library, which holds its config;
/// - a .gguf file, which holds its config;
/// - a .bin file of llama2.c, which holds its config;
/// - a config.json alone.
class CheckpointFiles {
 public:
  /// Throws FileError naming the file: when it cannot be read or breaks its format, when a file that an index names is missing or lacks a
  /// tensor that the index says it has, and when a directory holds nothing of the above. Throws ConfigError for a config that breaks a
  /// rule.
  static CheckpointFiles open(const std::string& path) {
    CheckpointFiles files;
    files.open_any(path);
    files.collect();
    return files;
  }

  /// Empty when the path is a .safetensors file that nothing describes.
  const std::optional<PublishedConfig>& model() const { return model_; }
  TensorNames names() const { return names_; }
  /// The model's tensors. They live as long as this object.
  std::span<const FoundTensor> tensors() const { return tensors_; }
  /// Whether there are weights, not only a config.
  bool has_weights() const { return !safetensors_.empty() || !gguf_.empty() || !llama2c_.empty(); }
  /// All files that were read.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  static constexpr std::size_t max_shards = 10000;  // ours; each is mapped, and systems limit how many mappings there are

  void open_any(const std::string& path) {
    if (detail::is_folder(path)) return open_directory(path);
    if (path.ends_with(".gguf")) return open_gguf(path);
    if (path.ends_with(".safetensors")) return open_file(path);
    if (path.ends_with(".bin")) return open_llama2c(path);
    if (path.ends_with(".index.json")) fail(path, "is the index of a model in shards (hint: give the folder)");
    if (path.ends_with(".json")) return read_config(path);
    if (!detail::path_exists(path)) fail(path, "there is no such file or folder");
    fail(path, "is no folder, and its name ends in none of .gguf, .safetensors, .bin and .json");
  }

  void open_directory(const std::string& folder) {
    const std::string config = detail::inside(folder, "config.json"), own = detail::inside(folder, "checkpoint.safetensors");
    if (!detail::path_exists(config) && detail::path_exists(own)) return open_file(own);
    if (!detail::path_exists(config)) fail(folder, "has neither a config.json nor a checkpoint.safetensors");
    read_config(config);
    const std::string whole = detail::inside(folder, "model.safetensors"), index = detail::inside(folder, "model.safetensors.index.json");
    if (detail::path_exists(whole)) return add_safetensors(whole);
    if (detail::path_exists(index)) return open_shards(folder, index);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".safetensors")
        fail(folder, detail::concat("has ", detail::in_quotes(entry.path().filename().string()),
                                    ", but neither model.safetensors nor model.safetensors.index.json"));
  }

  void open_file(const std::string& path) {
    add_safetensors(path);
    const auto& metadata = safetensors_.back().metadata();
    if (const auto own = metadata.find("config"); own != metadata.end() && metadata.contains("checkpoint_version")) {
      names_ = TensorNames::library;
      const Config config = config_from_json(own->second, detail::concat(path, ": config"));
      require_valid(config, path);
      model_ = {config, family_of(config), path};
      return;
    }
    const std::string config = detail::inside(detail::os::folder_of(path), "config.json");
    if (detail::path_exists(config)) read_config(config);
  }

  /// The family that has such models; llama for what none has, and for more layers than files of weights have.
  static Family family_of(const Config& config) {
    try {
      if (detail::tensor_count(config).value <= detail::max_expected_tensors) return hf_family_of(config);
    } catch (const ConfigError&) {
    }
    return Family::llama;
  }

  void open_gguf(const std::string& path) {
    gguf_.push_back(GgufFile::open(path));
    paths_.push_back(path);
    names_ = TensorNames::gguf;
    model_ = read_gguf_config(gguf_.back());
  }

  void open_llama2c(const std::string& path) {
    llama2c_.push_back(Llama2cFile::open(path));
    paths_.push_back(path);
    model_ = {llama2c_.back().config(), Family::llama, path};
  }

  /// Every file that the index names must be there, whole, and hold the tensors that it says.
  void open_shards(const std::string& folder, const std::string& path) {
    const SafetensorsShards index = read_safetensors_index(path);
    paths_.push_back(path);
    if (index.files.size() > max_shards) fail(path, detail::concat("names ", index.files.size(), " files, more than ", max_shards));
    for (const std::string& name : index.files) {
      if (!detail::path_exists(detail::inside(folder, name)))
        fail(path, detail::concat("names the file ", detail::in_quotes(name), ", which is missing"));
      add_safetensors(detail::inside(folder, name));
    }
    std::string missing;
    std::size_t count = 0;
    for (const auto& [tensor, file] : index.tensors) {
      if (safetensors_[file].find_shape(tensor) != nullptr) continue;
      if (++count <= 8) missing += detail::concat(count > 1 ? ", " : "", detail::in_quotes(tensor), " in ", index.files[file]);
    }
    if (count > 0) fail(path, detail::concat("names tensors that the files lack: ", missing, count > 8 ? ", ..." : ""));
  }

  void read_config(const std::string& path) {
    model_ = read_hf_config(path);
    paths_.push_back(path);
  }
  void add_safetensors(const std::string& path) {
    safetensors_.push_back(SafetensorsFile::open(path));
    paths_.push_back(path);
  }

  void collect() {
    for (const SafetensorsFile& file : safetensors_) {
      for (const auto& t : file.tensors())
        add({t.name, detail::safetensors::find_element_type(t.dtype)->name, t.shape, 0, t.bytes, file.path()}, t.bytes.size(), t.dtype);
      for (const auto& t : file.unsupported()) add({t.name, t.dtype, t.shape, 0, {}, file.path()}, t.size);
    }
    for (const GgufFile& file : gguf_) {
      for (const auto& t : file.tensors()) add({t.name, ggml_name(t.dtype), t.shape, 0, t.bytes, file.path()}, t.bytes.size(), t.dtype);
      for (const auto& t : file.unsupported()) add({t.name, t.type, t.shape, 0, {}, file.path()}, t.size);
    }
    for (const Llama2cFile& file : llama2c_)
      for (const auto& t : file.tensors()) add({t.name, "F32", t.shape, 0, t.bytes, file.path()}, t.bytes.size(), DType::f32);
  }
  void add(FoundTensor tensor, std::uint64_t size, std::optional<DType> format = {}) {
    tensor.format = format;
    tensor.size = static_cast<std::int64_t>(size);  // of a file that is mapped: it fits
    tensor.mapped = true;
    tensors_.push_back(tensor);
  }
  static std::string_view ggml_name(DType dtype) {
    for (const auto& type : detail::gguf::element_types)
      if (type.dtype == dtype) return type.name;
    return to_string(dtype);
  }

  [[noreturn]] static void fail(const std::string& path, std::string_view reason) {
    throw FileError(detail::concat("llm::CheckpointFiles: ", path, ": ", reason));
  }

  std::optional<PublishedConfig> model_;
  TensorNames names_ = TensorNames::hugging_face;
  std::vector<SafetensorsFile> safetensors_;
  std::vector<GgufFile> gguf_;        // none or one
  std::vector<Llama2cFile> llama2c_;  // none or one
  std::vector<FoundTensor> tensors_;
  std::vector<std::string> paths_;
};

}  // namespace llm
