// GGUF files of small models for tests of their configs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/io/gguf_config.hpp>
#include <llm/model/config_fields.hpp>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>

namespace llm_test {

/// A model of V 10, d 64, 2 layers, 4/2 heads, ffn 96, context 128, without the keys named in `without`. Keys go without the
/// architecture's name.
class GgufModel {
 public:
  explicit GgufModel(std::string architecture, std::vector<std::string> without = {})
      : architecture_(std::move(architecture)), without_(std::move(without)) {
    builder.text("general.architecture", architecture_);
    u32("context_length", 128).u32("embedding_length", 64).u32("block_count", 2).u32("feed_forward_length", 96);
    u32("attention.head_count", 4).u32("attention.head_count_kv", 2);
    f32(architecture_ == "gpt2" || architecture_ == "starcoder2" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        1e-6f);
    if (wanted("token_embd.weight")) builder.zeros("token_embd.weight", {10, 64});
  }

  GgufModel& u32(const std::string& key, std::uint32_t value) {
    if (wanted(key)) builder.u32(architecture_ + "." + key, value);
    return *this;
  }
  GgufModel& f32(const std::string& key, float value) {
    if (wanted(key)) builder.f32(architecture_ + "." + key, value);
    return *this;
  }
  GgufModel& flag(const std::string& key, bool value) {
    builder.flag(architecture_ + "." + key, value);
    return *this;
  }
  GgufModel& text(const std::string& key, std::string_view value) {
    builder.text(architecture_ + "." + key, value);
    return *this;
  }
  GgufModel& zeros(const std::string& name, const std::vector<std::uint64_t>& shape) {
    builder.zeros(name, shape);
    return *this;
  }

  llm::PublishedConfig read() const {
    const std::string content = builder.str();
    return llm::read_gguf_config(llm::GgufFile::view(std::as_bytes(std::span(content)), "test.gguf"));
  }
  /// The error's text, "" when there is none.
  std::string refusal() const {
    try {
      read();
      return "";
    } catch (const llm::Error& error) {
      const std::string text = error.what();
      return text.find("test.gguf: ") == std::string::npos ? "does not name the file: " + text : text;
    }
  }

  GgufBuilder builder;

 private:
  bool wanted(const std::string& key) const { return std::find(without_.begin(), without_.end(), key) == without_.end(); }

  std::string architecture_;
  std::vector<std::string> without_;
};

/// What every model above has in common, with the choices of Llama's family but for the position.
inline llm::Config gguf_model_config() {
  return {.vocab_size = 10,
          .d_model = 64,
          .n_layers = 2,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 16,
          .ffn_dim = 96,
          .max_seq_len = 128,
          .norm_eps = 1e-6,
          .tie_embeddings = true};
}
inline llm::Config gguf_llama_config() {
  llm::Config config = gguf_model_config();
  config.position = llm::Position::rope_interleaved;
  return config;
}

inline void check_gguf_config(const GgufModel& model, const llm::Config& expected, llm::Family family) {
  const llm::PublishedConfig actual = model.read();
  CHECK(llm::config_differences(actual.config, "the file", expected, "the test") == "");
  CHECK(actual.config == expected);
  CHECK(actual.family == family);
  CHECK(actual.source == "test.gguf");
}

inline std::string gguf_floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += le(std::bit_cast<std::uint32_t>(value));
  return bytes;
}

}  // namespace llm_test
