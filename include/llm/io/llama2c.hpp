// Reads the model files of llama2.c: small Llamas in f32, one file, nothing but numbers.
// Source: export.py and run.c of github.com/karpathy/llama2.c (versions 0 and 1 of its format).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>

namespace llm {

/// A matrix or vector of a llama2.c file, under the name that Hugging Face's Llama gives it.
struct Llama2cTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // f32, little-endian, row-major; they need not be aligned
};

/// What a llama2.c file holds.
struct Llama2cIndex {
  Config config;
  std::vector<Llama2cTensor> tensors;  // all of the model's, in the file's order
};

namespace detail {

/// Reads a file's header and finds its tensors, whose places follow from the header.
class Llama2cParser {
 public:
  Llama2cParser(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Llama2cIndex parse() {
    read_header();
    require_size();
    padded_ ? find_version_1() : find_version_0();
    return std::move(index_);
  }

 private:
  static constexpr std::uint32_t magic = 0x616b3432;  // "ak42": version 1 and later
  static constexpr std::size_t numbers = 7, bare_header = 4 * numbers, padded_header = 256;
  static constexpr std::int64_t max_layers = 10000;  // ours, as for the files of a sharded model

  /// Seven numbers, alone (version 0: a negative vocabulary says that the head is not tied) or behind a magic and a version and before
  /// a byte that says whether it is.
  void read_header() {
    if (bytes_.size() < bare_header) fail(concat("has ", bytes_.size(), " bytes, too few for a header of ", bare_header));
    if (number(0) == 0x04034b50) fail("is a zip archive, as PyTorch saves (hint: convert it to safetensors)");
    padded_ = number(0) == magic;
    if (padded_ && bytes_.size() < padded_header) fail(concat("has ", bytes_.size(), " bytes, too few for a header of ", padded_header));
    if (padded_ && number(1) != 1) fail(concat("is of version ", number(1), "; 0 and 1 are read (hint: export.py --version 1)"));
    std::array<std::int64_t, numbers> n{};
    for (std::size_t i = 0; i < numbers; ++i) n[i] = static_cast<std::int32_t>(number(i + (padded_ ? 2 : 0)));
    const bool tied = padded_ ? bytes_[bare_header + 8] != std::byte{0} : n[5] > 0;
    index_.config = {.vocab_size = padded_ || tied ? n[5] : -n[5],
                     .d_model = n[0],
                     .n_layers = n[2],
                     .n_heads = n[3],
                     .n_kv_heads = n[4],
                     .ffn_dim = n[1],
                     .max_seq_len = n[6],
                     .tie_embeddings = tied,
                     .position = Position::rope_interleaved};
    require_valid(config(), path_);
    if (n[4] == 0) fail("has 0 heads of keys and values");
    at_ = padded_ ? padded_header : bare_header;
    if (config().n_layers > max_layers) fail(concat("has ", config().n_layers, " layers, more than ", max_layers));
    if (config().head_width() % 2 != 0) fail(concat("has heads of ", config().head_width(), " elements, which make no pairs to rotate"));
  }

  /// A valid config's parameters and rotations are countable, so nothing here can overflow.
  void require_size() const {
    const std::int64_t elements = parameter_count(config()).total + rotations();
    if (elements > (INT64_MAX - static_cast<std::int64_t>(padded_header)) / 4 ||
        static_cast<std::uint64_t>(elements) * 4 + at_ != bytes_.size())
      fail(concat("has ", bytes_.size(), " bytes, ", elements, " elements of 4 behind a header of ", at_,
                  " are what its header says: it was cut short, or is no file of llama2.c"));
  }
  /// Cosines and sines that version 0 carries beside the model.
  std::int64_t rotations() const { return padded_ ? 0 : config().max_seq_len * config().head_width(); }

  void find_version_0() {
    embedding();
    for (const Role& role : roles) each_layer(role);
    final_norm();
    at_ += 4 * static_cast<std::size_t>(rotations());
    head();
  }
  void find_version_1() {
    for (const Role& role : roles)
      if (role.is_norm) each_layer(role);
    final_norm();
    embedding();
    for (const Role& role : roles)
      if (!role.is_norm) each_layer(role);
    head();
  }

  void embedding() { add("model.embed_tokens.weight", {config().vocab_size, config().d_model}); }
  void final_norm() { add("model.norm.weight", {config().d_model}); }
  void head() {
    if (!config().tie_embeddings) add("lm_head.weight", {config().vocab_size, config().d_model});
  }

  /// A tensor that each layer has, in the order of version 0.
  enum class Extent : std::uint8_t { model, query, key, mlp };
  struct Role {
    std::string_view name;
    bool is_norm;
    Extent rows, columns;
  };
  static constexpr std::array<Role, 9> roles{{{"input_layernorm", true, Extent::model, Extent::model},
                                              {"self_attn.q_proj", false, Extent::query, Extent::model},
                                              {"self_attn.k_proj", false, Extent::key, Extent::model},
                                              {"self_attn.v_proj", false, Extent::key, Extent::model},
                                              {"self_attn.o_proj", false, Extent::model, Extent::query},
                                              {"post_attention_layernorm", true, Extent::model, Extent::model},
                                              {"mlp.gate_proj", false, Extent::mlp, Extent::model},
                                              {"mlp.down_proj", false, Extent::model, Extent::mlp},
                                              {"mlp.up_proj", false, Extent::mlp, Extent::model}}};

  std::int64_t extent(Extent of) const {
    switch (of) {
      case Extent::query:
        return config().q_dim();
      case Extent::key:
        return config().kv_dim();
      case Extent::mlp:
        return config().ffn_dim;
      case Extent::model:
        break;
    }
    return config().d_model;
  }
  void each_layer(const Role& role) {
    for (std::int64_t layer = 0; layer < config().n_layers; ++layer) {
      std::vector<std::int64_t> shape{extent(role.rows)};
      if (!role.is_norm) shape.push_back(extent(role.columns));
      add(concat("model.layers.", layer, ".", role.name, ".weight"), std::move(shape));
    }
  }
  void add(std::string name, std::vector<std::int64_t> shape) {
    const std::size_t size = 4 * static_cast<std::size_t>(elements_of(shape));
    index_.tensors.push_back({std::move(name), std::move(shape), bytes_.subspan(at_, size)});
    at_ += size;
  }

  std::uint32_t number(std::size_t index) const {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes_[4 * index + i]);
    return value;
  }
  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat("llm::Llama2cFile: ", path_, ": ", reason)); }

  const Config& config() const { return index_.config; }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  bool padded_ = false;  // version 1
  std::size_t at_ = 0;
  Llama2cIndex index_;
};

}  // namespace detail

/// Checks a llama2.c file in memory: the tensors' bytes are views of `bytes`. Version 0, of which stories15M.bin is, and version 1. Its
/// rotation pairs neighbours, its RoPE base is 10000 and its norms' eps 1e-5: the format has no place for others.
/// Throws FileError, naming `path`, when it is another format or its size is not exactly what its header says; ConfigError when the
/// header's numbers are no model.
inline Llama2cIndex parse_llama2c(std::span<const std::byte> bytes, const std::string& path) {
  return detail::Llama2cParser(bytes, path).parse();
}

/// A llama2.c file (.bin), mapped. Move-only.
class Llama2cFile {
 public:
  /// Throws as parse_llama2c, and FileError when the file cannot be read.
  static Llama2cFile open(const std::string& path) {
    Llama2cFile file;
    file.file_ = MappedFile::open(path);
    file.index_ = parse_llama2c(file.file_.bytes(), path);
    return file;
  }

  const std::string& path() const { return file_.path(); }
  const Config& config() const { return index_.config; }
  const std::vector<Llama2cTensor>& tensors() const { return index_.tensors; }

 private:
  MappedFile file_;
  Llama2cIndex index_;
};

}  // namespace llm
