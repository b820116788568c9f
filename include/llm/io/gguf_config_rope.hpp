// The rotary positions of a GGUF file's model: base, width and scaling, from keys and from a tensor of factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/gguf_config_keys.hpp>
#include <llm/io/gguf_key_names.hpp>
#include <llm/model/config.hpp>

namespace llm::detail::gguf {

/// By how much llama3 scaling divides the frequency of rotated pair i of rope_dim / 2.
inline double llama3_divisor(const RopeScaling& scaling, double theta, std::int64_t rope_dim, std::int64_t i) {
  constexpr double two_pi = 6.283185307179586;
  const double wavelength = two_pi * std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rope_dim));
  const double turns = static_cast<double>(scaling.original_max_seq_len) / wavelength;  // over the first context
  if (turns > scaling.high_freq_factor) return 1;
  if (turns < scaling.low_freq_factor) return scaling.factor;
  const double kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return 1 / ((1 - kept) / scaling.factor + kept);
}

/// The scaling that the tensor rope_freqs.weight stands for. The format keeps llama3 scaling as these divisors of the frequencies, not
/// as the numbers that they come from. Those of the published models (Llama 3.1 and later: bounds 1 and 4, first context 8192) are
/// recognised by computing the divisors again; any others are an error.
inline RopeScaling scaling_of_factors(const Keys& keys, double theta, std::int64_t rope_dim) {
  constexpr std::string_view name = key::rope_freqs_tensor;
  const GgufEntry& tensor = keys.file().at(name);
  const auto refuse = [&](const std::string& why) {
    keys.fail(concat("tensor ", in_quotes(name), " scales RoPE's frequencies by ", why, ": what they come from is not known"));
  };
  constexpr std::int64_t widest = 65536;  // far beyond published heads: the tensor is read whole
  if (rope_dim > widest) keys.fail(key::rope_dimension_count, concat("is ", rope_dim, ", more than the limit of ", widest));
  if (tensor.dtype != DType::f32 || tensor.shape != std::vector<std::int64_t>{rope_dim / 2})
    keys.fail(concat("tensor ", in_quotes(name), " must hold one f32 for each of the ", rope_dim / 2, " rotated pairs"));
  const auto divisor = [&](std::int64_t i) {
    return static_cast<double>(load<float>(tensor.bytes.subspan(static_cast<std::size_t>(i) * 4, 4)));
  };
  double largest = 1;
  for (std::int64_t i = 0; i < rope_dim / 2; ++i) {
    if (!(divisor(i) >= 1 && divisor(i) <= 1e6)) refuse("factors outside 1 ... 1e6");
    largest = (std::max)(largest, divisor(i));
  }
  if (largest == 1) return {};
  const RopeScaling scaling{.kind = RopeScalingKind::llama3, .factor = largest, .original_max_seq_len = 8192};
  for (std::int64_t i = 0; i < rope_dim / 2; ++i) {
    const double expected = llama3_divisor(scaling, theta, rope_dim, i);
    if (std::abs(divisor(i) - expected) > 1e-3 * expected) refuse("factors other than the published Llama 3 models'");
  }
  return scaling;
}

inline RopeScaling read_yarn(Keys& keys, double factor) {
  RopeScaling scaling{.kind = RopeScalingKind::yarn, .factor = factor};
  scaling.original_max_seq_len = keys.count(key::rope_scaling_original_context_length);
  scaling.beta_fast = keys.find_number(key::rope_scaling_yarn_beta_fast).value_or(scaling.beta_fast);
  scaling.beta_slow = keys.find_number(key::rope_scaling_yarn_beta_slow).value_or(scaling.beta_slow);
  return scaling;
}

/// The scaling that the keys give. A file without a type but with a factor means linear, as files did before types were written.
inline RopeScaling read_scaling_keys(Keys& keys) {
  const auto type = keys.find_text(key::rope_scaling_type);
  const auto new_factor = keys.find_number(key::rope_scaling_factor), old_factor = keys.find_number("rope.scale_linear");
  const double factor = new_factor.value_or(old_factor.value_or(1.0));
  keys.ignore("rope.scaling.finetuned");
  keys.expect_number("rope.scaling.attn_factor", 1);
  keys.expect_number("rope.scaling.yarn_ext_factor", 1);
  keys.expect_number("rope.scaling.yarn_attn_factor", 1);
  if (type == "yarn") return read_yarn(keys, factor);
  keys.ignore(key::rope_scaling_original_context_length);
  if (type == "none" || (!type && factor == 1)) return {};
  if (type && *type != "linear")
    keys.fail(key::rope_scaling_type, concat("is ", in_quotes(*type), ", which is not known (none, linear, yarn)"));
  return {.kind = RopeScalingKind::linear, .factor = factor};
}

/// Fills rope_theta, rope_dim and rope_scaling; the sizes of heads are known by then.
inline void read_rope(Keys& keys, Config& config) {
  config.rope_theta = keys.find_number(key::rope_freq_base).value_or(10000.0);  // what the format's own program takes
  const std::int64_t width = config.head_width();
  const std::int64_t rotated = keys.find_positive(key::rope_dimension_count).value_or(width);
  config.rope_dim = rotated == width ? 0 : rotated;
  config.rope_scaling = read_scaling_keys(keys);
  for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
    if (keys.has_tensor(name)) keys.fail(concat("tensor ", in_quotes(name), ": RoPE scaling of the kind longrope is not supported"));
  if (!keys.has_tensor(key::rope_freqs_tensor)) return;
  const RopeScaling by_tensor = scaling_of_factors(keys, config.rope_theta, rotated);
  if (by_tensor.kind == RopeScalingKind::none) return;
  if (config.rope_scaling.kind != RopeScalingKind::none)
    keys.fail(key::rope_scaling_type, "and the tensor 'rope_freqs.weight' both scale RoPE");
  config.rope_scaling = by_tensor;
}

}  // namespace llm::detail::gguf
