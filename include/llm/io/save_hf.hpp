// Writes a model as a Hugging Face directory: config.json and safetensors files, in shards with an index where it is large.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/atomic_file.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/generation_config.hpp>
#include <llm/io/hf_config_writer.hpp>
#include <llm/io/new_folder.hpp>
#include <llm/io/parameter_source.hpp>
#include <llm/io/safetensors_writer.hpp>

namespace llm {

struct SaveOptions {
  std::optional<DType> dtype = {};           // f64, f32, bf16 or f16; none: the model's own where all matrices have one of these, else f32
  std::int64_t shard_bytes = 5'000'000'000;  // a file holds at most so many, but at least one tensor
  std::optional<std::int64_t> bos_token_id = {};
  std::vector<std::int64_t> eos_token_ids = {};
  std::optional<GenerationConfig> generation = {};  // how to draw tokens of the model; none: there is no generation_config.json
};

namespace detail {

/// Puts the rows of parameters where a family's files have them.
template <class View>
class HfTensors {
 public:
  HfTensors(const Config& config, Family family, std::vector<View> parameters, DType dtype)
      : config_(config), family_(family), parameters_(std::move(parameters)), dtype_(dtype) {
    file_config_ = config;
    if (config.rotary()) file_config_.position = Position::rope_half;
    const SourceFinder place_of(config_, file_config_, family, {});
    for (const View& p : parameters_) {
      const ParameterSource place = place_of(p);
      places_[place.tensor].push_back({&p, place});
    }
  }

  /// All tensors of the files in their order; a tied head is left out.
  std::vector<SafetensorsTensor> list() const {
    std::vector<SafetensorsTensor> all;
    for_each_expected_tensor(file_config_, family_, {}, [&](const ExpectedTensor& t) {
      if (t.copy_of.empty()) all.push_back({t.name, dtype_, t.shape});
    });
    return all;
  }

  /// Calls f(bytes) for the elements of one tensor, piece by piece.
  template <class F>
  void for_each_piece(const SafetensorsTensor& tensor, const F& f) const {
    const std::vector<Place>& parts = places_.at(tensor.name);
    if (parts.size() == 1 && parts.front().second.in_order() && parts.front().second.add == 0.0)
      return stream(tensor.name, *parts.front().first, f);
    const std::int64_t columns = tensor.shape.size() > 1 ? tensor.shape.back() : 1;
    std::vector<double> values(static_cast<std::size_t>(elements_of(tensor.shape)));
    for (const auto& [parameter, place] : parts) scatter(*parameter, place, columns, values);
    f(encoded(tensor.name, values));
  }

 private:
  using Place = std::pair<const View*, ParameterSource>;

  static std::int64_t width_of(const View& p) { return p.is_matrix() ? p.shape()[1] : 1; }

  template <class F>
  void stream(std::string_view tensor, const View& p, const F& f) const {
    const std::int64_t rows = p.shape()[0], width = width_of(p), at_once = (std::max)(std::int64_t{1}, (std::int64_t{1} << 20) / width);
    std::vector<double> values;
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = (std::min)(at_once, rows - first);
      values.resize(static_cast<std::size_t>(count * width));
      p.copy_rows(first, count, values.data());
      f(encoded(tensor, values));
    }
  }

  static void scatter(const View& p, const ParameterSource& place, std::int64_t columns, std::vector<double>& to) {
    const std::int64_t width = width_of(p);
    std::vector<double> row(static_cast<std::size_t>(width));
    for (std::int64_t r = 0; r < p.shape()[0]; ++r) {
      p.copy_rows(r, 1, row.data());
      const std::int64_t at = place.row(r);
      for (std::int64_t k = 0; k < width; ++k)
        to[static_cast<std::size_t>(place.transposed && p.is_matrix() ? k * columns + at : at * columns + k)] =
            row[static_cast<std::size_t>(k)] - place.add;
    }
  }

  template <class T>
  std::vector<std::byte> encoded_as(std::string_view tensor, const std::vector<double>& values) const {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<T>(values[i]);
      if (!std::isfinite(static_cast<double>(value)))
        throw NumericError(concat("llm::save_hf_directory: tensor ", in_quotes(tensor), ": ", values[i], " is no finite ",
                                  to_string(dtype_), " (hint: SaveOptions::dtype)"));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  std::vector<std::byte> encoded(std::string_view tensor, const std::vector<double>& values) const {
    switch (dtype_) {
      case DType::f64:
        return encoded_as<double>(tensor, values);
      case DType::bf16:
        return encoded_as<bf16>(tensor, values);
      case DType::f16:
        return encoded_as<f16>(tensor, values);
      default:
        return encoded_as<float>(tensor, values);
    }
  }

  Config config_, file_config_;
  Family family_;
  std::vector<View> parameters_;
  DType dtype_;
  std::map<std::string, std::vector<Place>> places_;
};

inline constexpr std::array plain_dtypes{DType::f32, DType::bf16, DType::f16, DType::f64};

/// The element type that all matrices have, if it is a plain one, else f32.
template <class View>
DType common_dtype(const std::vector<View>& parameters) {
  std::optional<DType> common;
  for (const View& p : parameters) {
    if (!p.is_matrix()) continue;
    if (common && *common != p.format()) return DType::f32;
    common = p.format();
  }
  return common && std::find(plain_dtypes.begin(), plain_dtypes.end(), *common) != plain_dtypes.end() ? *common : DType::f32;
}

/// The tensors of each file, filled in their order.
inline std::vector<std::vector<SafetensorsTensor>> in_shards(const std::vector<SafetensorsTensor>& tensors, std::int64_t most_bytes) {
  std::vector<std::vector<SafetensorsTensor>> shards(1);
  std::int64_t bytes = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const auto size = static_cast<std::int64_t>(safetensors::checked_bytes(tensor));
    if (!shards.back().empty() && size > most_bytes - bytes) shards.emplace_back(), bytes = 0;
    shards.back().push_back(tensor);
    bytes += size;
  }
  return shards;
}

inline std::string shard_name(std::size_t at, std::size_t count) {
  const auto digits = [](std::size_t number) {
    const std::string text = std::to_string(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return count == 1 ? "model.safetensors" : concat("model-", digits(at + 1), "-of-", digits(count), ".safetensors");
}

inline void write_text(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

inline std::string index_text(const std::vector<std::vector<SafetensorsTensor>>& shards) {
  nlohmann::ordered_json map, index;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const SafetensorsTensor& tensor : shards[i]) {
      map[tensor.name] = shard_name(i, shards.size());
      bytes += safetensors::checked_bytes(tensor);
    }
  index["metadata"] = {{"total_size", bytes}};
  index["weight_map"] = std::move(map);
  return index.dump(2) + "\n";
}

/// The text of a generation_config.json. Numbers have as many digits as a float needs. Throws ValueError for one that is not finite.
inline std::string generation_config_text(const GenerationConfig& config, const SaveOptions& options) {
  hf::OrderedJson json;
  hf::set_token_ids(json, options.bos_token_id, options.eos_token_ids);
  const auto set = [&](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  const auto set_float = [&](const char* key, const std::optional<float>& value) {
    if (value && !std::isfinite(*value)) throw ValueError(concat("llm::save_hf_directory: ", key, " is ", *value));
    if (value) json[key] = hf::OrderedJson::parse(concat(*value));
  };
  set("do_sample", config.do_sample);
  set_float("temperature", config.temperature);
  set("top_k", config.top_k);
  set_float("top_p", config.top_p);
  set_float("min_p", config.min_p);
  set_float("repetition_penalty", config.repetition_penalty);
  set("max_new_tokens", config.max_new_tokens);
  return json.dump(2) + "\n";
}

}  // namespace detail

/// Writes a model, trainable or frozen, as a directory that transformers loads with equal logits: config.json and model.safetensors, or
/// shards and their index; generation_config.json where the options have one. Matrices in block formats are decoded. Rows of q and k are
/// put into Hugging Face's convention of RoPE, a tied head is not written. The folder appears in one step with everything in it; it must
/// not exist yet, or be empty. A tokenizer's files are not written. Throws ConfigError when no family of transformers has such a model,
/// ValueError for an element type that files of weights do not have, NumericError, naming the tensor, for weights that are not finite in
/// the files' element type, FileError when the folder holds something or the system fails.
template <class Model>
void save_hf_directory(const std::string& folder, const Model& model, const SaveOptions& options = {}) {
  using View = typename Model::ConstView;
  const Family family = hf_family_of(Model::config);
  std::vector<View> parameters;
  model.for_each_parameter([&](const auto& p) { parameters.push_back(p); });
  const DType dtype = options.dtype.value_or(detail::common_dtype(parameters));
  if (std::find(detail::plain_dtypes.begin(), detail::plain_dtypes.end(), dtype) == detail::plain_dtypes.end())
    throw ValueError(detail::concat("llm::save_hf_directory: ", folder, ": ", to_string(dtype), " is none of f64, f32, bf16 and f16"));
  const detail::HfTensors<View> tensors(Model::config, family, std::move(parameters), dtype);
  const auto shards = detail::in_shards(tensors.list(), options.shard_bytes);
  detail::NewFolder target(folder);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    SafetensorsWriter file(target / detail::shard_name(i, shards.size()), shards[i], {{"format", "pt"}});
    for (const SafetensorsTensor& tensor : shards[i])
      tensors.for_each_piece(tensor, [&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.commit();
  }
  if (shards.size() > 1) detail::write_text(target / "model.safetensors.index.json", detail::index_text(shards));
  detail::write_text(target / "config.json", hf_config_text(Model::config, family, {dtype, options.bos_token_id, options.eos_token_ids}));
  if (options.generation)
    detail::write_text(target / "generation_config.json", detail::generation_config_text(*options.generation, options));
  target.commit();
}

}  // namespace llm
