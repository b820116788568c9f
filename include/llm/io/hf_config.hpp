// Reads the config.json of a published Hugging Face model into a Config.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_families.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/hf_config_meaning.hpp>
#include <llm/io/hf_config_traits.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/published_config.hpp>
#include <llm/model/rules.hpp>

namespace llm {

namespace detail::hf {

/// The family that model_type names.
inline Family read_family_name(Fields& fields) {
  const std::string name = fields.text("model_type", "");
  std::string known;
  for (std::size_t i = 0; i < std::size(family_names); ++i) {
    if (family_names[i] == name) return static_cast<Family>(i);
    known += concat(i == 0 ? "" : ", ", family_names[i]);
  }
  fields.refuse("model_type", concat("one of the architectures that the library knows: ", known));
}

/// architectures, when it is there, must have the family's language model: others have another head, or none.
inline void require_language_model(Fields& fields, Family family) {
  if (!fields.has("architectures") || fields.array("architectures").empty()) return;
  const std::string_view expected = traits_of(family).architecture;
  for (const Fields::Json& name : fields.array("architectures"))
    if (name.is_string() && name.get_ref<const std::string&>() == expected) return;
  fields.fail(concat("architectures has ", Fields::shown(fields.array("architectures").front()), ", expected '", expected,
                     "', the language model of model_type '", to_string(family), "'"));
}

}  // namespace detail::hf

/// The Config of a config.json that is in memory; `source` names it in errors. The spellings of transformers 4 and 5 are read, and a
/// missing field means what the model's class in transformers 5 says; sizes must be there. Fields about anything but the architecture are
/// ignored, also the quantisation of the weights.
/// Throws FileError, naming file, field and value, for text that is no JSON object or is beyond the limits of detail::JsonLimits, an
/// unknown model_type, architecture, RoPE type or activation, a value of the wrong type or out of range, and fields that contradict each
/// other or say what a Config cannot; ConfigError when the Config breaks a rule.
inline PublishedConfig parse_hf_config(std::string_view text, const std::string& source) {
  constexpr std::string_view skipped[] = {"quantization_config", "compression_config"};
  const std::string where = detail::concat("llm::read_hf_config: ", source);
  const nlohmann::json json = detail::parse_json_object(std::as_bytes(std::span(text.data(), text.size())), where, {.skipped = skipped});
  detail::hf::Fields fields(json, where);
  PublishedConfig published;
  published.source = source;
  published.family = detail::hf::read_family_name(fields);
  detail::hf::require_language_model(fields, published.family);
  published.config = detail::hf::read_family(fields, published.family);
  detail::hf::require_rest_harmless(fields);
  require_valid(published.config, where);
  return published;
}

/// The same of a file: the path of its config.json. Throws FileError also when it cannot be read.
inline PublishedConfig read_hf_config(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  return parse_hf_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace llm
