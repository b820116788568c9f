// JSON objects whose fields are known: written field by field, read back with every difference an error.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/json_document.hpp>
#include <llm/model/config_fields.hpp>

namespace llm {

/// Collects named values into a JSON object, in order: integers, doubles (exactly), bools, strings, and enums of Config by name.
class JsonWriter {
 public:
  template <class V>
  void operator()(std::string_view name, const V& value) {
    if constexpr (std::is_enum_v<V>)
      object_[std::string(name)] = enum_name(value);
    else
      object_[std::string(name)] = value;
  }
  /// Throws ValueError when a name or a string is not valid UTF-8, which JSON cannot hold.
  std::string text() const {
    try {
      return object_.dump();
    } catch (const nlohmann::json::exception&) {
      const std::string shown = object_.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      throw ValueError(detail::concat("llm::JsonWriter: a name or a string is not valid UTF-8: ", detail::in_quotes(shown)));
    }
  }

 private:
  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
};

/// Reads what JsonWriter wrote. Every error is a FileError that begins with `where` and names the field: no object, too large or too deep a
/// one, a field that is missing, occurs twice, or has another type. finish() refuses fields that nobody asked for.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string where)
      : where_(std::move(where)),
        object_(detail::parse_json_object(std::as_bytes(std::span(text.data(), text.size())), where_, {.limits = limits})) {}

  bool has(std::string_view name) const { return object_.contains(std::string(name)); }

  /// Takes the field into `value`, whose type says what it must be.
  template <class V>
  void operator()(std::string_view name, V& value) {
    const auto found = object_.find(std::string(name));
    if (found == object_.end()) fail(detail::concat("field ", detail::in_quotes(name), " is missing"));
    if (const char* expected = read(*found, value))
      fail(detail::concat("field ", detail::in_quotes(name), " is ", shown(*found), ", expected ", expected));
    object_.erase(found);
  }

  /// The fields that are left, all of them strings.
  std::map<std::string, std::string> take_strings() {
    std::map<std::string, std::string> all;
    while (!object_.empty()) {
      const std::string name = object_.begin().key();
      (*this)(name, all[name]);
    }
    return all;
  }

  void finish() const {
    if (!object_.empty()) fail(detail::concat("field ", detail::in_quotes(object_.begin().key()), " is unknown"));
  }

 private:
  using Json = nlohmann::json;

  /// Objects are flat, but for a wrong value that is named.
  static constexpr detail::JsonLimits limits{.depth = 2, .values = 65536};

  [[noreturn]] void fail(std::string_view reason) const { throw FileError(detail::concat(where_, ": ", reason)); }

  /// A value for a message. Arrays and objects are not written out.
  static std::string shown(const Json& value) {
    if (value.is_structured()) return value.is_array() ? "an array" : "an object";
    return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
  }

  /// Null, or what was expected.
  static const char* read(const Json& from, std::int64_t& value) {
    const bool fits = from.is_number_integer() && !(from.is_number_unsigned() && from.get<std::uint64_t>() > INT64_MAX);
    if (fits) value = from.get<std::int64_t>();
    return fits ? nullptr : "an integer of 64 bits";
  }
  static const char* read(const Json& from, std::uint64_t& value) {
    if (from.is_number_unsigned()) value = from.get<std::uint64_t>();
    return from.is_number_unsigned() ? nullptr : "a non-negative integer of 64 bits";
  }
  static const char* read(const Json& from, double& value) {
    if (from.is_number()) value = from.get<double>();
    return from.is_number() ? nullptr : "a number";
  }
  static const char* read(const Json& from, bool& value) {
    if (from.is_boolean()) value = from.get<bool>();
    return from.is_boolean() ? nullptr : "true or false";
  }
  static const char* read(const Json& from, std::string& value) {
    if (from.is_string()) value = from.get<std::string>();
    return from.is_string() ? nullptr : "a string";
  }
  template <class E>
  requires std::is_enum_v<E>
  static const char* read(const Json& from, E& value) {
    return from.is_string() && parse_enum(from.get<std::string>(), value) ? nullptr : "one of this field's names";
  }

  std::string where_;
  Json object_;
};

namespace detail {
/// Whether the first files had the field: then every file has it.
inline bool in_first_files(std::string_view name) {
  for (const std::string_view first : {"vocab_size",     "d_model",       "n_layers",      "n_heads",       "n_kv_heads",
                                       "head_dim",       "ffn_dim",       "max_seq_len",   "rope_theta",    "norm_eps",
                                       "tie_embeddings", "norm",          "norm_rounding", "norm_position", "position",
                                       "rope_dim",       "qk_norm",       "mlp",           "qkv_bias",      "attention_out_bias",
                                       "mlp_bias",       "sliding_window"})
    if (name == first) return true;
  return false;
}
}  // namespace detail

/// A Config as a JSON object with the names of its fields.
inline std::string config_to_json(const Config& config) {
  JsonWriter writer;
  for_each_field(config, writer);
  return writer.text();
}

/// The Config of such an object, which must have every field and no other. `where` begins the error's text.
/// A field that Config got later may be missing, as in the first files, and then has its default.
inline Config config_from_json(const std::string& text, const std::string& where) {
  Config config;
  JsonReader reader(text, where);
  for_each_field(config, [&](std::string_view name, auto& value) {
    if (reader.has(name) || detail::in_first_files(name)) reader(name, value);
  });
  reader.finish();
  return config;
}

}  // namespace llm
