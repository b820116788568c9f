// The rotary positions of a GGUF file's model: base, width and scaling, from keys and from a tensor of factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/gguf_config_keys.hpp>
#include <llm/io/gguf_key_names.hpp>
#include <llm/model/config.hpp>
#include <llm/ops/rope_frequencies.hpp>

namespace llm::detail::gguf {

/// By how much llama3 scaling divides the frequency of rotated pair i of rope_dim / 2.
inline double llama3_divisor(const RopeScaling& scaling, double theta, std::int64_t rope_dim, std::int64_t i) {
  const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope_dim));
  return frequency / stretched(frequency, scaling.factor, llama3_share(frequency, scaling));
}

/// The divisors in the tensor rope_freqs.weight, one for each rotated pair.
inline std::vector<double> read_divisors(const Keys& keys, std::int64_t rope_dim) {
  constexpr std::string_view name = key::rope_freqs_tensor;
  const GgufEntry& tensor = keys.file().at(name);
  constexpr std::int64_t widest = 65536;  // far beyond published heads: the tensor is read whole
  if (rope_dim > widest) keys.fail(key::rope_dimension_count, concat("is ", rope_dim, ", more than the limit of ", widest));
  const std::int64_t pairs = rope_dim / 2;
  if (tensor.dtype != DType::f32 || tensor.shape != std::vector<std::int64_t>{pairs})
    keys.fail(concat("tensor ", in_quotes(name), " must hold one f32 for each of the ", pairs, " rotated pairs"));
  if (tensor.bytes.size() != static_cast<std::size_t>(pairs) * 4)
    keys.fail(concat("the data of tensor ", in_quotes(name), " is not there"));
  std::vector<double> divisors;
  for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i)
    divisors.push_back(static_cast<double>(load<float>(tensor.bytes.subspan(i * 4, 4))));
  return divisors;
}

/// Whether a scaling has these divisors.
inline bool has_divisors(const RopeScaling& scaling, double theta, std::int64_t rope_dim, const std::vector<double>& divisors) {
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double expected = llama3_divisor(scaling, theta, rope_dim, static_cast<std::int64_t>(i));
    if (!(std::abs(divisors[i] - expected) <= 1e-3 * expected)) return false;
  }
  return true;
}

/// The scaling that the tensor rope_freqs.weight stands for. The format keeps llama3 scaling as these divisors of the frequencies, not
/// as the numbers that they come from. With the bounds of all published models, 1 and 4, the first context is that of Llama 3.1 and later,
/// 8192, another power of two, or follows from a divisor between the bounds; the divisors are computed again to know. Any others are an
/// error.
inline RopeScaling scaling_of_factors(const Keys& keys, double theta, std::int64_t rope_dim) {
  const std::vector<double> divisors = read_divisors(keys, rope_dim);
  const auto refuse = [&](const char* why) {
    keys.fail(
        concat("tensor ", in_quotes(key::rope_freqs_tensor), " scales RoPE's frequencies by ", why, ": what they come from is not known"));
  };
  double largest = 1;
  for (const double divisor : divisors) {
    if (!(divisor >= 1 && divisor <= 1e6)) refuse("factors outside 1 ... 1e6");
    largest = (std::max)(largest, divisor);
  }
  if (largest == 1) return {};
  RopeScaling scaling{.kind = RopeScalingKind::llama3, .factor = largest};
  const auto fits = [&](std::int64_t context) {
    scaling.original_max_seq_len = context;
    return has_divisors(scaling, theta, rope_dim, divisors);
  };
  if (fits(8192)) return scaling;
  for (std::int64_t context = 1; context <= INT32_MAX; context *= 2)
    if (fits(context)) return scaling;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    if (divisors[i] <= 1 || divisors[i] >= largest) continue;
    const double kept = (1 / divisors[i] - 1 / largest) / (1 - 1 / largest);
    const double turns = scaling.low_freq_factor + kept * (scaling.high_freq_factor - scaling.low_freq_factor);
    const double wavelength = 2.0 * std::numbers::pi * std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rope_dim));
    const double context = turns * wavelength;
    if (!(context >= 1 && context <= INT32_MAX)) continue;
    if (fits(std::llround(context))) return scaling;
  }
  refuse("factors other than those of Llama 3's scaling");
  return {};
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
