// Reads the model files of llama2.c: small Llamas in f32, one file, nothing but numbers.
// Source: export.py and run.c of github.com/karpathy/llama2.c (versions 0 and 1 of its format).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/little_endian.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/published_config.hpp>
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
    for_each_expected_tensor(config(), Family::llama, {}, [&](const ExpectedTensor& tensor) { shapes_[tensor.name] = tensor.shape; });
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
    add(embedding);
    for (const std::string_view role : roles) each_layer(role);
    add(final_norm);
    at_ += 4 * static_cast<std::size_t>(rotations());
    if (!config().tie_embeddings) add(head);
  }
  void find_version_1() {
    for (const std::string_view role : roles)
      if (is_norm(role)) each_layer(role);
    add(final_norm);
    add(embedding);
    for (const std::string_view role : roles)
      if (!is_norm(role)) each_layer(role);
    if (!config().tie_embeddings) add(head);
  }

  static constexpr const char *embedding = "model.embed_tokens.weight", *final_norm = "model.norm.weight", *head = "lm_head.weight";
  /// What each layer has, in the order of version 0.
  static constexpr std::array<std::string_view, 9> roles{"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                                         "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                                         "mlp.gate_proj",    "mlp.down_proj",    "mlp.up_proj"};
  static bool is_norm(std::string_view role) { return role.ends_with("norm"); }

  void each_layer(std::string_view role) {
    for (std::int64_t layer = 0; layer < config().n_layers; ++layer) add(concat("model.layers.", layer, ".", role, ".weight"));
  }
  void add(std::string name) {
    std::vector<std::int64_t> shape = shapes_.at(name);
    const std::size_t size = 4 * static_cast<std::size_t>(elements_of(shape));
    index_.tensors.push_back({std::move(name), std::move(shape), bytes_.subspan(at_, size)});
    at_ += size;
  }

  std::uint32_t number(std::size_t index) const { return little_endian_u32(bytes_, 4 * index); }
  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat("llm::Llama2cFile: ", path_, ": ", reason)); }

  const Config& config() const { return index_.config; }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  bool padded_ = false;  // version 1
  std::size_t at_ = 0;
  std::map<std::string, std::vector<std::int64_t>> shapes_;  // of the tensors, by name
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
