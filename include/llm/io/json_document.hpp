// A small JSON file from outside as a tree, within limits on its size, depth and number of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/json_text.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/page_release.hpp>
#include <llm/io/paths.hpp>

namespace llm::detail {

/// What a file may ask for. With these, a tree and its file take less than 12 MiB.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 22;  // of the text
  std::size_t depth = 32;                    // of arrays and objects in each other
  std::size_t values = 16'384;               // in the tree
};

/// A long list in a file: an array or an object under a key of the top object, or without a key that object itself. Its elements are given
/// away one by one, as soon as each is complete, and the tree keeps an empty list. Which names an object has is not kept either: one may
/// occur twice.
struct JsonList {
  std::string_view key = {};
  /// Takes an element, the place of it, "list[3]", "list.name" or "name", and in an object its name.
  std::function<void(const nlohmann::json& element, const std::string& place, const std::string& name)> take = {};
};

/// What parse_json_object() does beside building a tree.
struct JsonOptions {
  std::span<const std::string_view> skipped = {};  // keys of the top object whose values are checked, but replaced by null
  JsonLimits limits = {};
  JsonList list = {};
  ReleasePages release = nullptr;  // lets pages of a mapped file go that have been read
};

/// Builds the tree from the parser's events.
class JsonTree {
 public:
  JsonTree(JsonText& text, const JsonOptions& options) : text_(text), options_(options) {}

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
    skipping_ = depth_ == 1 && std::find(options_.skipped.begin(), options_.skipped.end(), key_) != options_.skipped.end();
    if (skipping_) place(nullptr);
    if (in_list_ && depth_ == list_depth()) name_ = key_;
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
    if (++values_ > options_.limits.values) text_.fail(concat("has more than ", options_.limits.values, " values"));
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_object()) return &((*open_.back())[key_] = std::move(value));
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }

  bool scalar(Json value) {
    text_.token_read();
    if (depth_ == 0) text_.fail("is not a JSON object");
    if (!skipping_) place(std::move(value));
    give_away();
    return true;
  }

  bool open(Json value) {
    text_.token_read();
    if (depth_ == 0 && !value.is_object()) text_.fail("is not a JSON object");
    if (++depth_ > options_.limits.depth) fail(concat("is nested deeper than ", options_.limits.depth, " levels"));
    if (!skipping_) open_.push_back(place(std::move(value)));
    if (options_.list.take && depth_ == list_depth() && key_ == options_.list.key) {
      in_list_ = true;
      values_before_ = values_;
    }
    return true;
  }

  bool close() {
    text_.token_read();
    if (--depth_ == 0 || !skipping_) open_.pop_back();
    in_list_ = in_list_ && depth_ >= list_depth();
    give_away();
    return true;
  }

  std::size_t list_depth() const { return options_.list.key.empty() ? 1 : 2; }
  /// An element of the list that has just become complete.
  void give_away() {
    if (!in_list_ || depth_ != list_depth()) return;
    Json& list = *open_.back();
    const std::string key(options_.list.key);
    if (list.is_array()) {
      options_.list.take(list.back(), concat(key, "[", given_++, "]"), {});
      list.get_ref<Json::array_t&>().pop_back();
    } else {
      options_.list.take(list.at(name_), concat(key, key.empty() ? "" : ".", name_), name_);
      list.erase(name_);
    }
    values_ = values_before_;
  }

  JsonText& text_;
  JsonOptions options_;
  std::vector<Json*> open_;  // only the last of an array's elements is open, so none moves
  std::string key_, name_;   // the last key; that of the list's element
  std::size_t depth_ = 0, values_ = 0, values_before_ = 0, given_ = 0;
  bool skipping_ = false, in_list_ = false;
};

/// The JSON object that `text` holds. Throws FileError, beginning with `where`, when it is not valid JSON, not an object, too large,
/// nested too deep, has too many values, or names a field of an object twice.
inline nlohmann::json parse_json_object(std::span<const std::byte> text, const std::string& where, const JsonOptions& options = {}) {
  if (text.size() > options.limits.bytes)
    throw FileError(concat(where, ": is ", text.size(), " bytes long, more than the limit of ", options.limits.bytes));
  JsonText characters(where, "text", text, options.release);
  JsonTree tree(characters, options);
  nlohmann::json::sax_parse(characters.begin(), characters.end(), &tree);
  return std::move(tree.root);
}

/// The same of a file; none when there is no file. Errors begin with the name of the function that reads it.
inline std::optional<nlohmann::json> read_json_object(const std::string& path, std::string_view function, JsonOptions options = {}) {
  if (!path_exists(path)) return {};
  const MappedFile file = MappedFile::open_to_read_once(path);
  options.release = os::release_pages;
  return parse_json_object(file.bytes(), concat(function, ": ", path), options);
}

}  // namespace llm::detail
