// Takes the keys of a GGUF file's architecture one by one; what nobody takes is an error.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/io/gguf_reader.hpp>

namespace llm::detail::gguf {

/// The double that the shortest decimal digits of a float denote: a file's 1e-5f is the 1e-5 of whoever wrote it.
inline double as_written(float value) {
  char digits[64];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double out = 0;
  std::from_chars(digits, end, out);
  return out;
}

/// The metadata of one architecture: `name` stands for the key "<architecture>.<name>". Every error is a FileError that names the file
/// and the key. finish() refuses keys of the architecture that were not asked for: whoever wrote them meant something by them.
class Keys {
 public:
  explicit Keys(const GgufFile& file) : file_(file) {
    const GgufValue* value = file.find_metadata("general.architecture");
    if (value == nullptr) fail("has no key 'general.architecture'");
    if (!value->text()) fail("general.architecture is no string");
    architecture_ = *value->text();
  }

  const GgufFile& file() const { return file_; }
  std::string_view architecture() const { return architecture_; }
  [[noreturn]] void fail(std::string_view reason) const { gguf::fail(file_.path(), reason); }
  /// Fails over one key.
  [[noreturn]] void fail(std::string_view name, std::string_view reason) const { fail(concat("key ", in_quotes(key(name)), " ", reason)); }

  /// An integer from 0 to 2^31 - 1, of any integer type.
  std::optional<std::int64_t> find_count(std::string_view name) {
    const GgufValue* value = find(name);
    if (value == nullptr) return {};
    if (value->type() == GgufType::array) fail(name, "is an array: layers that differ in it are not supported");
    const auto count = value->integer();
    if (!count || *count < 0 || *count > INT32_MAX) fail(name, "is no integer from 0 to 2^31 - 1");
    return count;
  }
  std::int64_t count(std::string_view name) { return required(name, find_count(name)); }
  /// The same from 1: where 0 would mean something else in a Config.
  std::optional<std::int64_t> find_positive(std::string_view name) {
    const auto found = find_count(name);
    if (found == 0) fail(name, "is 0");
    return found;
  }
  std::int64_t positive(std::string_view name) { return required(name, find_positive(name)); }

  /// A finite number.
  std::optional<double> find_number(std::string_view name) {
    const GgufValue* value = find(name);
    if (value == nullptr) return {};
    auto number = value->floating();
    if (!number || !std::isfinite(*number)) fail(name, "is no finite floating-point number");
    if (value->type() == GgufType::f32) number = as_written(static_cast<float>(*number));
    return number;
  }
  double number(std::string_view name) { return required(name, find_number(name)); }

  /// A view into the file: a string may be as long as that.
  std::optional<std::string_view> find_text(std::string_view name) {
    const GgufValue* value = find(name);
    if (value == nullptr) return {};
    if (!value->text()) fail(name, "is no string");
    return value->text();
  }
  std::optional<bool> find_flag(std::string_view name) {
    const GgufValue* value = find(name);
    if (value == nullptr) return {};
    if (!value->boolean()) fail(name, "is no bool");
    return value->boolean();
  }

  /// For a key that may be there and says nothing about the model.
  void ignore(std::string_view name) { find(name); }
  /// For a key that may be there if it has this value.
  void expect_number(std::string_view name, double value) {
    const auto number = find_number(name);
    if (number && *number != value) fail(name, concat("is ", *number, "; only ", value, " is supported"));
  }

  bool has_tensor(std::string_view name) const { return file_.find_shape(name) != nullptr; }

  void finish() const {
    const std::string prefix = concat(architecture_, ".");
    for (const GgufPair& pair : file_.metadata())
      if (pair.key.substr(0, prefix.size()) == prefix && taken_.find(pair.key) == taken_.end())
        fail(concat("key ", in_quotes(pair.key), " is unknown: what it changes about the model is not known"));
  }

 private:
  std::string key(std::string_view name) const { return concat(architecture_, ".", name); }
  const GgufValue* find(std::string_view name) {
    std::string full = key(name);
    const GgufValue* value = file_.find_metadata(full);
    taken_.insert(std::move(full));
    return value;
  }
  template <class T>
  T required(std::string_view name, const std::optional<T>& value) const {
    if (!value) fail(name, "is missing");
    return *value;
  }

  const GgufFile& file_;
  std::string_view architecture_;  // in the file
  std::set<std::string, std::less<>> taken_;
};

}  // namespace llm::detail::gguf
