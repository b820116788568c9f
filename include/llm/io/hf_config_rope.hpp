// Rotary embedding in a published config.json, in the spellings of transformers 4 (rope_theta, rope_scaling) and 5 (rope_parameters).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <llm/core/error.hpp>
#include <llm/core/rope_scaling.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/hf_config_traits.hpp>
#include <llm/io/published_config.hpp>

namespace llm::detail::hf {

/// What one object of RoPE parameters says.
struct Rope {
  std::optional<double> theta;
  std::optional<double> rotated;  // share of a head
  RopeScaling scaling = {};

  friend bool operator==(const Rope&, const Rope&) = default;
};

/// Reads such an object: `rope_scaling`, `rope_parameters`, or that of one kind of layers.
/// Source: modeling_rope_utils.py of transformers 5.
class RopeReader {
 public:
  /// `fields` is the config itself, whose original_max_position_embeddings counts where the object has none.
  RopeReader(Fields& fields, Family family, std::int64_t max_positions)
      : fields_(fields), latent_(family == Family::deepseek_v2 || family == Family::deepseek_v3), max_positions_(max_positions) {}

  Rope read(Fields object) {
    Rope rope;
    const std::string type = type_of(object);
    check_keys(object);
    if (object.has("rope_theta")) rope.theta = object.positive("rope_theta");
    if (object.has("partial_rotary_factor")) rope.rotated = object.positive("partial_rotary_factor");
    rope.scaling.kind = kind_of(object, type);
    if (rope.scaling.kind == RopeScalingKind::none) {
      if (object.has("factor") && object.positive("factor") != 1.0) object.refuse("factor", "none, since the RoPE type is 'default'");
      return rope;
    }
    read_factor(object, rope.scaling);
    if (rope.scaling.kind == RopeScalingKind::llama3) {
      rope.scaling.low_freq_factor = object.positive("low_freq_factor");
      rope.scaling.high_freq_factor = object.positive("high_freq_factor");
    }
    if (rope.scaling.kind == RopeScalingKind::yarn)
      read_yarn(object, rope.scaling);
    else if (latent_ && object.not_negative("mscale_all_dim") != 0.0)
      object.refuse("mscale_all_dim", concat("none, since the RoPE type is '", type, "'"));
    return rope;
  }

 private:
  static std::string type_of(Fields& object) {
    const std::string_view key = object.spelling({"rope_type", "type"});
    return object.text(key, "default");
  }

  static RopeScalingKind kind_of(Fields& object, const std::string& type) {
    if (type == "default") return RopeScalingKind::none;
    if (type == "linear") return RopeScalingKind::linear;
    if (type == "llama3") return RopeScalingKind::llama3;
    if (type == "yarn") return RopeScalingKind::yarn;
    object.refuse(object.spelling({"rope_type", "type"}), "'default', 'linear', 'llama3' or 'yarn', the RoPE types that the library knows");
  }

  static void check_keys(Fields& object) {
    kind_of(object, type_of(object));  // an unknown type is the better message
    constexpr std::string_view known[] = {"rope_type",        "type",
                                          "rope_theta",       "partial_rotary_factor",
                                          "factor",           "low_freq_factor",
                                          "high_freq_factor", "original_max_position_embeddings",
                                          "beta_fast",        "beta_slow",
                                          "attention_factor", "mscale",
                                          "mscale_all_dim",   "truncate",
                                          "finetuned"};
    for (const auto& [key, value] : object.json().items()) {
      if (std::find(std::begin(known), std::end(known), key) != std::end(known)) continue;
      if (!value.is_null()) object.refuse(key, "none, since it is not known what it would mean");
    }
  }

  void read_factor(Fields& object, RopeScaling& scaling) {
    const bool needs_length = scaling.kind == RopeScalingKind::llama3 || scaling.kind == RopeScalingKind::yarn;
    if (needs_length) scaling.original_max_seq_len = original_length(object);
    const Fields::Json* factor = object.find("factor");
    if (scaling.kind == RopeScalingKind::yarn && factor != nullptr && factor->is_null())
      scaling.factor = static_cast<double>(max_positions_) / static_cast<double>(scaling.original_max_seq_len);
    else
      scaling.factor = object.positive("factor");
  }

  std::int64_t original_length(Fields& object) {
    constexpr std::string_view key = "original_max_position_embeddings";
    const std::int64_t outer = fields_.count_or_null(key, 0), inner = object.count_or_null(key, 0);
    if (outer != 0 && inner != 0 && outer != inner) object.refuse(key, concat(outer, ", as ", key, " of the config itself says"));
    return inner != 0 ? inner : outer != 0 ? outer : max_positions_;
  }

  void read_yarn(Fields& object, RopeScaling& scaling) {
    const double fast = object.not_negative("beta_fast"), slow = object.not_negative("beta_slow");
    if (fast != 0.0) scaling.beta_fast = fast;
    if (slow != 0.0) scaling.beta_slow = slow;
    scaling.attention_factor = object.positive_or_null("attention_factor", 0.0);
    scaling.mscale = object.not_negative("mscale");
    scaling.mscale_all_dim = object.not_negative("mscale_all_dim");
    scaling.truncate = object.flag("truncate", true);
    if (!latent_) without_mscale(scaling);
  }

  /// mscale_all_dim of a Config also scales the scores, as only latent attention does; elsewhere the two give a factor of cos and sin.
  static void without_mscale(RopeScaling& scaling) {
    const auto amplitude = [&](double weight) { return scaling.factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(scaling.factor) + 1.0; };
    if (scaling.attention_factor == 0.0 && scaling.mscale != 0.0 && scaling.mscale_all_dim != 0.0)
      scaling.attention_factor = amplitude(scaling.mscale) / amplitude(scaling.mscale_all_dim);
    scaling.mscale = scaling.mscale_all_dim = 0.0;
  }

  Fields& fields_;
  bool latent_;
  std::int64_t max_positions_;
};

/// Whether rope_parameters has an object for each kind of layers.
inline bool is_nested(Fields& fields, std::string_view key) {
  Fields object = fields.object(key);
  return object.find("full_attention") != nullptr || object.find("sliding_attention") != nullptr;
}

/// The object under `rope_scaling` or, of newer files, `rope_parameters`. An empty one counts as missing.
inline Rope read_rope_object(Fields& fields, RopeReader& reader) {
  std::optional<Rope> found;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key) || fields.object(key).json().empty()) continue;
    if (is_nested(fields, key)) fields.refuse(key, "one object for all layers");
    const Rope rope = reader.read(fields.object(key));
    if (found && found->scaling != rope.scaling) fields.fail("rope_scaling and rope_parameters contradict each other");
    if (!found) found = rope;
    if (rope.theta) found->theta = rope.theta;
    if (rope.rotated) found->rotated = rope.rotated;
  }
  return found.value_or(Rope{});
}

/// Two places for one number: they must agree.
inline double agreed(Fields& fields, std::optional<double> inner, std::string_view key, double missing) {
  if (!fields.has(key)) return inner.value_or(missing);
  const double outer = fields.positive(key);
  if (inner && *inner != outer) fields.refuse(key, concat(*inner, ", as the RoPE parameters say"));
  return outer;
}

/// Gemma 3: one object for layers with a window, one for the others; before, rope_theta and rope_local_base_freq.
inline void read_rope_by_layer(Fields& fields, RopeReader& reader, double theta, Config& c) {
  constexpr double window_theta = 10000.0;
  Rope full, sliding;
  if (fields.has("rope_parameters")) {
    Fields both = fields.object("rope_parameters");
    for (const auto& [key, value] : both.json().items())
      if (key != "full_attention" && key != "sliding_attention") both.refuse(key, "full_attention and sliding_attention alone");
    if (both.has("full_attention")) full = reader.read(both.object("full_attention"));
    if (both.has("sliding_attention")) sliding = reader.read(both.object("sliding_attention"));
  }
  if (fields.has("rope_scaling")) {
    const Rope rope = reader.read(fields.object("rope_scaling"));
    if (full.scaling.kind != RopeScalingKind::none && full.scaling != rope.scaling)
      fields.fail("rope_scaling and rope_parameters contradict each other");
    full.scaling = rope.scaling;
    if (rope.theta) full.theta = rope.theta;
    full.rotated = rope.rotated ? rope.rotated : full.rotated;
  }
  if (sliding.scaling.kind != RopeScalingKind::none)
    fields.fail("rope_parameters.sliding_attention is scaled, which llm::Config cannot say of layers with a window");
  if (full.rotated.value_or(1.0) != 1.0 || sliding.rotated.value_or(1.0) != 1.0)
    fields.fail("partial_rotary_factor is not 1, which this family cannot have");
  c.rope_scaling = full.scaling;
  c.rope_theta = agreed(fields, full.theta, "rope_theta", theta);
  const double windowed = agreed(fields, sliding.theta, "rope_local_base_freq", window_theta);
  if (c.sliding_window > 0) c.rope_theta_window = windowed;
}

/// Width that is rotated of heads that are `head_width` wide; 0: all of it.
inline std::int64_t rotated_width(const Fields& fields, double share, std::int64_t head_width) {
  const auto width = static_cast<std::int64_t>(static_cast<double>(head_width) * (std::min)(share, 1.0));
  if (share > 1.0 || width < 2)
    fields.fail(concat("the share of a head that is rotated is ", share, ", expected at most 1, and at least one pair of ", head_width,
                       " dimensions"));
  return width == head_width ? 0 : width;
}

/// Sets the fields of a Config that say how positions are rotated; its sizes and window must be set.
inline void read_rope(Fields& fields, Family family, Config& c) {
  const Traits& traits = traits_of(family);
  RopeReader reader(fields, family, c.max_seq_len);
  if (family == Family::gemma3) return read_rope_by_layer(fields, reader, traits.theta, c);
  const Rope rope = read_rope_object(fields, reader);
  const bool neox = family == Family::gpt_neox;
  const std::string_view theta_key = neox ? fields.spelling({"rotary_emb_base", "rope_theta"}) : "rope_theta";
  const std::string_view share_key = neox ? fields.spelling({"rotary_pct", "partial_rotary_factor"}) : "partial_rotary_factor";
  c.rope_scaling = rope.scaling;
  c.rope_theta = agreed(fields, rope.theta, theta_key, traits.theta);
  const double share = agreed(fields, rope.rotated, share_key, neox ? 0.25 : 1.0);
  if (family == Family::phi3 && rope.scaling.kind != RopeScalingKind::none)
    fields.fail("the RoPE parameters ask for a scaling that Phi-3 does not have");
  if (neox || family == Family::phi3)
    c.rope_dim = rotated_width(fields, share, c.head_width());
  else if (share != 1.0)
    fields.fail(concat("partial_rotary_factor is ", share, ", expected 1: this family rotates whole heads"));
}

}  // namespace llm::detail::hf
