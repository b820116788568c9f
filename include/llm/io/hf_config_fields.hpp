// The fields of a published JSON file, such as a config.json, with their types and ranges checked; every error names file, field and value.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>

namespace llm::detail::hf {

/// Largest size that a config.json may name: of a matrix, a list of layers, a context.
inline constexpr std::int64_t largest_count = 2147483647;

/// Reads one JSON object. A field that was asked for is marked: what is left may then be checked for fields with a meaning.
class Fields {
 public:
  using Json = nlohmann::json;

  /// `where` begins each error; `prefix` stands before a field's name: "rope_scaling.".
  Fields(const Json& object, std::string where, std::string prefix = {})
      : object_(object), where_(std::move(where)), prefix_(std::move(prefix)) {}

  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat(where_, ": ", reason)); }
  /// "hidden_act: <reason>".
  [[noreturn]] void fail_at(std::string_view key, std::string_view reason) const { fail(concat(prefix_, key, ": ", reason)); }
  /// "hidden_act is 'relu', expected ...".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) {
    const Json* value = find(key);
    fail(concat(prefix_, key, " is ", value != nullptr ? shown(*value) : "missing", ", expected ", expected));
  }

  /// The field's value, also null; a null pointer when the object has no such field. Marks the field as read.
  const Json* find(std::string_view key) {
    const auto found = object_.find(std::string(key));
    if (found == object_.end()) return nullptr;
    read_.emplace(key);
    return &*found;
  }
  /// Whether there is a value other than null.
  bool has(std::string_view key) {
    const Json* value = find(key);
    return value != nullptr && !value->is_null();
  }
  bool was_read(std::string_view key) const { return read_.contains(key); }

  /// Of several spellings of one field the one that is there; the first when none is. Two with different values are an error.
  std::string_view spelling(std::initializer_list<std::string_view> keys) {
    std::string_view present;
    for (const std::string_view key : keys) {
      if (!has(key)) continue;
      if (!present.empty() && *find(present) != *find(key))
        fail(concat(prefix_, present, " is ", shown(*find(present)), ", but ", prefix_, key, ", which means the same, is ",
                    shown(*find(key))));
      if (present.empty()) present = key;
    }
    return present.empty() ? *keys.begin() : present;
  }

  /// An integer within bounds; the field must be there.
  std::int64_t count(std::string_view key, std::int64_t least = 1) {
    const Json* value = find(key);
    const bool fits = value != nullptr && value->is_number_integer() &&
                      !(value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(largest_count));
    if (!fits || value->get<std::int64_t>() < least || value->get<std::int64_t>() > largest_count)
      refuse(key, concat("an integer from ", least, " to ", largest_count));
    return value->get<std::int64_t>();
  }
  /// The same with a value for a missing field; null is an error.
  std::int64_t count_or(std::string_view key, std::int64_t missing, std::int64_t least = 1) {
    return find(key) == nullptr ? missing : count(key, least);
  }
  /// The same with a value for a missing field or null.
  std::int64_t count_or_null(std::string_view key, std::int64_t missing, std::int64_t least = 1) {
    return has(key) ? count(key, least) : missing;
  }

  /// A finite number greater than 0.
  double positive(std::string_view key) {
    const double value = number(key, "a number greater than 0");
    if (!(value > 0.0)) refuse(key, "a number greater than 0");
    return value;
  }
  double positive_or(std::string_view key, double missing) { return find(key) == nullptr ? missing : positive(key); }
  double positive_or_null(std::string_view key, double missing) { return has(key) ? positive(key) : missing; }
  /// A finite number of at least 0; 0 for a missing field or null.
  double not_negative(std::string_view key) {
    const double value = has(key) ? number(key, "a number of at least 0") : 0.0;
    if (value < 0.0) refuse(key, "a number of at least 0");
    return value;
  }

  bool flag(std::string_view key, bool missing) {
    if (!has(key)) return missing;
    if (!find(key)->is_boolean()) refuse(key, "true or false");
    return find(key)->get<bool>();
  }

  std::string text(std::string_view key, std::string_view missing) {
    if (!has(key)) return std::string(missing);
    if (!find(key)->is_string()) refuse(key, "a string");
    return find(key)->get<std::string>();
  }

  const Json& array(std::string_view key) {
    if (!has(key) || !find(key)->is_array()) refuse(key, "an array");
    return *find(key);
  }

  /// The fields of an object in this one, which must be there.
  Fields object(std::string_view key) {
    if (!has(key) || !find(key)->is_object()) refuse(key, "an object");
    return Fields(*find(key), where_, concat(prefix_, key, "."));
  }

  /// The fields of an object in the array `key`, which must have that element.
  Fields element(std::string_view key, std::size_t at) { return of_element(array(key).at(at), where_, concat(prefix_, key, "[", at, "]")); }
  /// The fields of a value that stands at `place`, "key[3]", and must be an object.
  static Fields of_element(const Json& value, const std::string& where, const std::string& place) {
    if (!value.is_object()) throw FileError(concat(where, ": ", place, " is ", shown(value), ", expected an object"));
    return Fields(value, where, place + ".");
  }

  const Json& json() const { return object_; }

  /// A value for a message. Arrays and objects are not written out.
  static std::string shown(const Json& value) {
    if (value.is_structured()) return value.is_array() ? "an array" : "an object";
    if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
    return value.dump();
  }

 private:
  double number(std::string_view key, std::string_view expected) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number() || !std::isfinite(value->get<double>())) refuse(key, expected);
    return value->get<double>();
  }

  const Json& object_;
  std::string where_, prefix_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace llm::detail::hf
