// Checkpoints: everything a training run needs to go on, in one safetensors file that is replaced in one step.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <llm/io/safetensors.hpp>
#include <llm/tensor/host_memory.hpp>
#include <llm/train/checkpoint_info.hpp>
#include <llm/train/clip.hpp>

namespace llm {

namespace detail::checkpoint {

/// Calls f(name, shape, tensor) for what AdamW keeps of each parameter.
template <class Optimizer, class F>
void for_each_moment(Optimizer& optimizer, F&& f) {
  for (auto& state : optimizer.states()) {
    const std::string name = state.parameter.name();
    f("optimizer.m." + name, state.parameter.shape(), state.m);
    f("optimizer.v." + name, state.parameter.shape(), state.v);
    if constexpr (Optimizer::has_master) f("optimizer.master." + name, state.parameter.shape(), state.master);
  }
}

/// Whether the optimizer keeps moments of a model of this type.
template <class Optimizer, class Model>
inline constexpr bool optimizer_of = false;
template <class Optimizer, ListsParameters Model>
requires requires {
  typename Optimizer::State;
  typename Model::View;
}
inline constexpr bool optimizer_of<Optimizer, Model> = std::is_same_v<decltype(Optimizer::State::parameter), typename Model::View>;

/// A model that can be filled from a file.
template <class Model>
inline constexpr bool can_be_loaded = ListsParameters<Model> && !std::is_const_v<Model>;

template <class Optimizer, class Model>
void require_same_parameters(const Optimizer& optimizer, const Model& model) {
  std::size_t at = 0;
  bool same = true;
  const auto& states = optimizer.states();
  model.for_each_parameter(
      [&](const auto& p) { same = same && at < states.size() && states[at++].parameter.tensor().data() == p.tensor().data(); });
  if (!same || at != states.size()) throw ValueError("llm: the optimizer was made for the parameters of another model");
}

/// Collects tensors for writing; what lives elsewhere than on the host is copied there.
class Collector {
 public:
  explicit Collector(std::string path) : path_(std::move(path)) {}

  template <class T, class Backend>
  void operator()(const std::string& name, std::span<const std::int64_t> shape, const Tensor<T, Shape<dyn>, Backend>& tensor) {
    const Elements<T> values{tensor.data(), tensor.numel()};
    if (!std::isfinite(Backend::template sum_of_squares<T>(&values, 1)))
      throw NumericError(concat("llm::save_checkpoint: ", name, " is not finite; ", path_, " was left as it was"));
    auto bytes = std::as_bytes(std::span(tensor.data(), static_cast<std::size_t>(tensor.numel())));
    if constexpr (!std::derived_from<typename Backend::memory, HostMemory>) {
      copies_.emplace_back(bytes.size());
      Backend::memory::copy_to_host(copies_.back().data(), tensor.data(), bytes.size());
      bytes = copies_.back();
    }
    tensors_.push_back({name, dtype_of<T>, {shape.begin(), shape.end()}, bytes});
  }
  std::span<const TensorToWrite> tensors() const { return tensors_; }

 private:
  std::string path_;
  std::vector<TensorToWrite> tensors_;
  std::vector<std::vector<std::byte>> copies_;
};

/// Plans the copy of a file's tensors into a model: first every tensor is checked, then commit() copies all and cannot fail.
template <class Backend>
class Restorer {
 public:
  /// `masters`: a model in f32 may take the master weights of one that was trained in bf16.
  explicit Restorer(const SafetensorsFile& file, bool masters = false) : file_(file), masters_(masters) {}

  template <class T>
  void operator()(const std::string& name, std::span<const std::int64_t> shape, Tensor<T, Shape<dyn>, Backend>& tensor) {
    const SafetensorsEntry* entry = file_.find(name);
    expected_.insert(name);
    if (entry == nullptr) return missing_.push_back(name);
    if (masters_ && entry->dtype == DType::bf16 && dtype_of<T> == DType::f32)
      if (const SafetensorsEntry* const master = file_.find("optimizer.master." + name)) entry = master;
    if (entry->dtype != dtype_of<T>)
      fail(concat("tensor ", name, " holds ", to_string(entry->dtype), ", the model has ", to_string(dtype_of<T>)));
    if (!std::equal(shape.begin(), shape.end(), entry->shape.begin(), entry->shape.end()))
      fail(concat("tensor ", name, " has shape ", text(entry->shape), ", the model has ", text(shape)));
    copies_.push_back({tensor.data(), entry});
  }

  /// Throws FileError naming tensors that the file lacks, or has too many; those beginning with `ignored` are left aside.
  void finish(std::string_view ignored) {
    std::vector<std::string> extra;
    const auto look = [&](const std::string& name) {
      if (!expected_.contains(name) && (ignored.empty() || !name.starts_with(ignored))) extra.push_back(name);
    };
    for (const auto& entry : file_.tensors()) look(entry.name);
    for (const auto& entry : file_.unsupported()) look(entry.name);
    if (!missing_.empty()) fail(concat("lacks ", list(missing_)));
    if (!extra.empty()) fail(concat("has ", list(extra), ", which the model has not"));
  }

  void commit() const {
    for (const Copy& copy : copies_) Backend::memory::copy_from_host(copy.to, copy.from->bytes.data(), copy.from->bytes.size());
  }

 private:
  struct Copy {
    void* to;
    const SafetensorsEntry* from;
  };

  [[noreturn]] void fail(const std::string& reason) const { throw FileError(concat(file_.path(), ": ", reason)); }

  static std::string text(std::span<const std::int64_t> shape) {
    std::string out = "[";
    for (const std::int64_t extent : shape) out += concat(out.size() > 1 ? ", " : "", extent);
    return out + "]";
  }
  /// The first few names and how many there are.
  static std::string list(const std::vector<std::string>& names) {
    std::string out = concat(names.size(), names.size() == 1 ? " tensor: " : " tensors: ");
    for (std::size_t i = 0; i < names.size() && i < 8; ++i) out += concat(i > 0 ? ", " : "", in_quotes(names[i]));
    return names.size() > 8 ? out + ", ..." : out;
  }

  const SafetensorsFile& file_;
  bool masters_;
  std::set<std::string> expected_;
  std::vector<std::string> missing_;
  std::vector<Copy> copies_;
};

inline void require_config(const std::string& path, const Config& file, const Config& model) {
  const std::string differences = config_differences(file, "the file", model, "the model");
  if (!differences.empty()) throw ConfigError(concat(path, ": the checkpoint is of another config: ", differences));
}

/// Plans the parameters.
template <class Model, class Restore>
void restore_parameters(Model& model, Restore& restore) {
  model.for_each_parameter([&](auto& p) { restore(p.name(), p.shape(), p.tensor()); });
}

}  // namespace detail::checkpoint

/// The file of a checkpoint folder.
inline std::string checkpoint_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "checkpoint.safetensors").string();
}

/// Writes folder/checkpoint.safetensors: weights under the model's names, optimizer.m.NAME, optimizer.v.NAME and, for bf16,
/// optimizer.master.NAME, each in its own element type; config, steps, data position and notes as metadata. Any safetensors
/// reader can read the weights. The folder is made when missing. A crash, a kill or a full disk leaves the old checkpoint or
/// the new one, whole. Call it between optimizer steps: gradients are not saved.
/// Throws NumericError when a number is not finite, ValueError when the notes are not UTF-8 or too long, FileError when the system
/// fails; the old checkpoint stays then.
template <class Model, class Optimizer>
void save_checkpoint(const std::string& folder, const Model& model, const Optimizer& optimizer, const RandomWindows::State& data,
                     const CheckpointNotes& notes = {}) {
  namespace cp = detail::checkpoint;
  const std::string path = checkpoint_path(folder);
  cp::require_same_parameters(optimizer, model);
  cp::Collector collect(path);
  model.for_each_parameter([&](const auto& p) { collect(p.name(), p.shape(), p.tensor()); });
  cp::for_each_moment(optimizer, collect);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(detail::concat(folder, ": cannot create the checkpoint's folder: ", error.message()));
  const std::string version_text = detail::concat(version.major_number, ".", version.minor_number, ".", version.patch_number);
  write_safetensors(path, collect.tensors(),
                    cp::metadata_of({Model::config, data, optimizer.options(), optimizer.steps(), notes, version_text}));
}

/// Another order of arguments, or the optimizer of another type of model.
template <class Model, class Optimizer>
requires(!detail::checkpoint::optimizer_of<Optimizer, Model>) void save_checkpoint(const std::string&, const Model&, const Optimizer&,
                                                                                   const RandomWindows::State&,
                                                                                   const CheckpointNotes& = {}) {
  static_assert(
      detail::checkpoint::optimizer_of<Optimizer, Model>,
      "llm::save_checkpoint(folder, model, optimizer, data): the optimizer must be the llm::AdamW of this type of model, after it");
}

/// What a checkpoint says about itself, without its tensors: to choose the model's type, for example.
/// Throws FileError when there is no checkpoint or it is damaged.
inline CheckpointInfo read_checkpoint_info(const std::string& folder) {
  return detail::checkpoint::info_of(SafetensorsFile::open(checkpoint_path(folder)));
}

/// Restores weights, moments and step count, so that training goes on bit for bit (at the same number of threads) once the batches
/// are restored too: `batches.restore(load_checkpoint(...).data)`. The optimizer keeps the options it was made with. Gradients are
/// cleared. Throws ConfigError naming every field in which the configs differ, FileError naming missing, extra or misshapen tensors;
/// nothing is changed then.
template <class Model, class Optimizer>
CheckpointInfo load_checkpoint(const std::string& folder, Model& model, Optimizer& optimizer) {
  namespace cp = detail::checkpoint;
  cp::require_same_parameters(optimizer, model);
  const auto file = SafetensorsFile::open(checkpoint_path(folder));
  CheckpointInfo info = cp::info_of(file);
  cp::require_config(file.path(), info.config, Model::config);
  cp::Restorer<typename Model::backend_type> restore(file);
  cp::restore_parameters(model, restore);
  cp::for_each_moment(optimizer, restore);
  restore.finish("");
  restore.commit();
  optimizer.set_steps(info.optimizer_steps);
  clear_gradients(model);
  return info;
}

/// Another order of arguments, the optimizer of another type of model, or a const model.
template <class Model, class Optimizer>
requires(!detail::checkpoint::can_be_loaded<Model> || !detail::checkpoint::optimizer_of<Optimizer, Model>) CheckpointInfo
    load_checkpoint(const std::string&, Model&, Optimizer&) {
  static_assert(detail::checkpoint::can_be_loaded<Model> && detail::checkpoint::optimizer_of<Optimizer, Model>,
                "llm::load_checkpoint(folder, model, optimizer): the model must not be const, and the optimizer must be the llm::AdamW of "
                "this type of model, after it");
  return {};
}

/// Restores the weights alone, for generation or a fresh optimizer. Gradients are cleared. A model in f32 takes the master weights of a
/// checkpoint in bf16. A model with a smaller max_seq_len than the file's fits when its positions are not learned. Make the optimizer
/// afterwards: one that exists would keep its old master weights. Throws as load_checkpoint does; nothing is changed then.
template <class Model>
CheckpointInfo load_weights(const std::string& folder, Model& model) {
  namespace cp = detail::checkpoint;
  const auto file = SafetensorsFile::open(checkpoint_path(folder));
  CheckpointInfo info = cp::info_of(file);
  Config config = info.config;
  if (config.position != Position::learned) config.max_seq_len = (std::min)(config.max_seq_len, Model::config.max_seq_len);
  cp::require_config(file.path(), config, Model::config);
  cp::Restorer<typename Model::backend_type> restore(file, true);
  cp::restore_parameters(model, restore);
  restore.finish("optimizer.");
  restore.commit();
  clear_gradients(model);
  return info;
}

/// Something that is no model, or a const one.
template <class Model>
requires(!detail::checkpoint::can_be_loaded<Model>) CheckpointInfo load_weights(const std::string&, Model&) {
  static_assert(detail::checkpoint::can_be_loaded<Model>,
                "llm::load_weights(folder, model): the second argument must be a model, as llm::LLM is, and not const");
  return {};
}

}  // namespace llm
