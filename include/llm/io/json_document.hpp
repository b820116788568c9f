// A small JSON file from outside as a tree, within limits on its size, depth and number of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/json_text.hpp>

namespace llm::detail {

/// What a file may ask for. With these, a tree and its file take less than 12 MiB.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 22;  // of the text
  std::size_t depth = 32;                    // of arrays and objects in each other
  std::size_t values = 16'384;               // in the tree
};

/// Builds the tree from the parser's events. Under the keys `skipped` of the top object values are checked, but replaced by null.
class JsonTree {
 public:
  JsonTree(JsonText& text, std::span<const std::string_view> skipped, const JsonLimits& limits)
      : text_(text), skipped_(skipped), limits_(limits) {}

  nlohmann::json root;

  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(std::int64_t value) { return scalar(value); }
  bool number_unsigned(std::uint64_t value) { return scalar(value); }
  bool number_float(double value, const std::string&) { return scalar(value); }
  bool string(std::string& value) { return scalar(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { fail("has binary data"); }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    text_.token_read();
    if (skipping_ && depth_ > 1) return true;
    key_ = std::move(name);
    if (open_.back()->contains(key_)) fail("occurs twice");
    skipping_ = depth_ == 1 && std::find(skipped_.begin(), skipped_.end(), key_) != skipped_.end();
    if (skipping_) place(nullptr);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range) fail("has a number beyond the range of double");
    text_.fail("is not valid JSON");
  }

 private:
  using Json = nlohmann::json;

  /// Names the last key, near which the fault is.
  [[noreturn]] void fail(std::string_view reason) const {
    text_.fail(key_.empty() ? std::string(reason) : concat("field ", in_quotes(key_), " ", reason));
  }

  Json* place(Json value) {
    if (++values_ > limits_.values) text_.fail(concat("has more than ", limits_.values, " values"));
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_object()) return &((*open_.back())[key_] = std::move(value));
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }

  bool scalar(Json value) {
    text_.token_read();
    if (depth_ == 0) text_.fail("is not a JSON object");
    if (!skipping_) place(std::move(value));
    return true;
  }

  bool open(Json value) {
    text_.token_read();
    if (depth_ == 0 && !value.is_object()) text_.fail("is not a JSON object");
    if (++depth_ > limits_.depth) fail(concat("is nested deeper than ", limits_.depth, " levels"));
    if (!skipping_) open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    text_.token_read();
    if (--depth_ == 0 || !skipping_) open_.pop_back();
    return true;
  }

  JsonText& text_;
  std::span<const std::string_view> skipped_;
  JsonLimits limits_;
  std::vector<Json*> open_;  // only the last of an array's elements is open, so none moves
  std::string key_;
  std::size_t depth_ = 0, values_ = 0;
  bool skipping_ = false;
};

/// The JSON object that `text` holds. Throws FileError, beginning with `where`, when it is not valid JSON, not an object, too large,
/// nested too deep, has too many values, or names a field of an object twice. Values under the keys `skipped` of the top object are null.
inline nlohmann::json parse_json_object(std::span<const std::byte> text, const std::string& where,
                                        std::span<const std::string_view> skipped = {}, const JsonLimits& limits = {}) {
  if (text.size() > limits.bytes)
    throw FileError(concat(where, ": is ", text.size(), " bytes long, more than the limit of ", limits.bytes));
  JsonText characters(where, "text", text);
  JsonTree tree(characters, skipped, limits);
  nlohmann::json::sax_parse(characters.begin(), characters.end(), &tree);
  return std::move(tree.root);
}

}  // namespace llm::detail
