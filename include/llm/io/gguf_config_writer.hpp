// Says in GGUF's metadata what a model is: the inverse of read_gguf_config.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/gguf_config.hpp>
#include <llm/io/gguf_key_names.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/gguf_writer.hpp>
#include <llm/io/published_config.hpp>
#include <llm/model/config.hpp>
#include <llm/model/config_fields.hpp>

namespace llm {

namespace detail::gguf {

/// general.architecture of a family whose files are written. Throws ValueError for the others.
inline std::string_view architecture_of(Family family) {
  switch (family) {
    case Family::llama:
    case Family::mistral:
    case Family::mixtral:
      return "llama";
    case Family::qwen2:
      return "qwen2";
    case Family::qwen3:
      return "qwen3";
    case Family::qwen3_moe:
      return "qwen3moe";
    case Family::gpt2:
      return "gpt2";
    default:
      throw ValueError(concat("llm::gguf_metadata: models of the family ", to_string(family), " are not written as GGUF"));
  }
}

/// Sets the keys of one architecture.
class KeySetter {
 public:
  KeySetter(GgufMetadata& out, std::string_view architecture) : out_(out), architecture_(architecture) {}

  void count(std::string_view name, std::int64_t value) {
    if (value < 0 || value > INT32_MAX)
      throw ValueError(concat("llm::gguf_metadata: ", name, " is ", value, ", beyond what the format holds"));
    set(name, static_cast<std::uint32_t>(value));
  }
  void number(std::string_view name, double value) { set(name, static_cast<float>(value)); }
  void set(std::string_view name, OwnedGgufValue value) { out_.set(concat(architecture_, ".", name), std::move(value)); }

 private:
  GgufMetadata& out_;
  std::string_view architecture_;
};

inline void set_rope(KeySetter& keys, const Config& config) {
  keys.number(key::rope_freq_base, config.rope_theta);
  keys.count(key::rope_dimension_count, config.rope_width());
  const RopeScaling& scaling = config.rope_scaling;
  if (scaling.kind != RopeScalingKind::linear && scaling.kind != RopeScalingKind::yarn) return;  // llama3 is a tensor
  keys.set(key::rope_scaling_type, scaling.kind == RopeScalingKind::linear ? "linear" : "yarn");
  keys.number(key::rope_scaling_factor, scaling.factor);
  if (scaling.kind != RopeScalingKind::yarn) return;
  keys.count(key::rope_scaling_original_context_length, scaling.original_max_seq_len);
  keys.number(key::rope_scaling_yarn_beta_fast, scaling.beta_fast);
  keys.number(key::rope_scaling_yarn_beta_slow, scaling.beta_slow);
}

inline void set_experts(KeySetter& keys, const Config& config) {
  const Experts& experts = config.experts;
  keys.count(key::expert_count, experts.count);
  keys.count(key::expert_used_count, experts.active);
  keys.count(key::expert_feed_forward_length, config.expert_ffn_dim());
  keys.set(key::expert_weights_norm, experts.normalise);
  if (experts.scale != 1) keys.number(key::expert_weights_scale, experts.scale);
  if (experts.score != RouterScore::softmax) keys.count(key::expert_gating_func, 2);
}

/// The divisors of RoPE's frequencies that llama3 scaling means, as the bytes of f32.
inline std::string rope_divisors(const Config& config) {
  std::string out;
  for (std::int64_t i = 0; i < config.rope_width() / 2; ++i)
    append_number(out, static_cast<float>(llama3_divisor(config.rope_scaling, config.rope_theta, config.rope_width(), i)));
  return out;
}

}  // namespace detail::gguf

/// The model as GGUF files of its family have it: the architecture llama rotates pairs that are interleaved (rows of q and k are
/// reordered when it is written), the others the two halves of a head.
inline Config gguf_config(const PublishedConfig& model) {
  Config config = model.config;
  if (config.rotary())
    config.position = detail::gguf::architecture_of(model.family) == "llama" ? Position::rope_interleaved : Position::rope_half;
  return config;
}

/// The keys that say what the model is. They are not proof that the format can say everything about it: see check_gguf_config.
/// Throws ValueError for families that are not written, and sizes beyond the format's.
inline GgufMetadata gguf_metadata(const PublishedConfig& model) {
  namespace gg = detail::gguf;
  const Config config = gguf_config(model);
  const std::string_view architecture = gg::architecture_of(model.family);
  GgufMetadata out;
  out.set("general.architecture", architecture);
  out.set("general.type", "model");
  gg::KeySetter keys(out, architecture);
  keys.count(gg::key::vocab_size, config.vocab_size);
  keys.count(gg::key::context_length, config.max_seq_len);
  keys.count(gg::key::embedding_length, config.d_model);
  keys.count(gg::key::block_count, config.n_layers);
  keys.count(gg::key::feed_forward_length, config.ffn_dim);
  keys.count(gg::key::head_count, config.n_heads);
  keys.count(gg::key::head_count_kv, config.kv_heads());
  keys.count(gg::key::key_length, config.head_width());
  keys.count(gg::key::value_length, config.head_width());
  keys.number(config.norm == Norm::rms_norm ? gg::key::layer_norm_rms_epsilon : gg::key::layer_norm_epsilon, config.norm_eps);
  if (config.rotary()) gg::set_rope(keys, config);
  if (config.has_experts()) gg::set_experts(keys, config);
  return out;
}

/// Throws ConfigError, naming the fields, unless a reader of the file will find the same Config in it. `beginning`: the file's header,
/// with rope_freqs.weight, if there is one, as the first tensor and its data.
inline void check_gguf_config(const PublishedConfig& model, std::span<const std::byte> beginning) {
  Config wanted = gguf_config(model);
  for_each_field(wanted, [](const char*, auto& value) {  // the format's numbers are f32
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, double>)
      value = detail::gguf::as_written(static_cast<float>(value));
  });
  const Config found = read_gguf_config(GgufFile::view_beginning(beginning, "the GGUF file of " + model.source)).config;
  if (const std::string differences = config_differences(wanted, "the model", found, "the GGUF file"); !differences.empty())
    throw ConfigError(detail::concat("llm::write_gguf: ", model.source, ": the format cannot say what the model is: ", differences));
}

}  // namespace llm
