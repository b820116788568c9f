// tokenizer.json as the parser's events: vocabulary and merges go where they belong one by one, all else becomes a small tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <llm/core/error.hpp>
#include <llm/io/json_document.hpp>
#include <llm/io/json_text.hpp>

namespace llm::detail::tokenizer_json {

/// What a file may ask for. Gemma's, among the largest, has 33 MB and half a million merges.
inline constexpr std::size_t max_bytes = std::size_t{1} << 27, max_merges = std::size_t{1} << 20;
inline constexpr JsonLimits tree_limits{.bytes = max_bytes, .depth = 24};

/// Gives a visitor every entry of model.vocab, as token(spelling, id), and of model.merges, as merge(left, right); what these throw as
/// ValueError becomes a FileError that says where. The tree has null in place of both.
template <class Visitor>
class Events {
 public:
  using Json = nlohmann::json;

  /// `options` are of the tree.
  Events(JsonText& text, Visitor& visitor, const JsonOptions& options) : text_(text), tree_(text, options), visitor_(visitor) {}

  Json& root() { return tree_.root; }
  bool has_vocabulary() const { return has_vocabulary_; }
  bool has_merges() const { return has_merges_; }
  std::size_t merges() const { return merges_; }

  bool null() {
    return scalar([&] { return tree_.null(); });
  }
  bool boolean(bool value) {
    return scalar([&] { return tree_.boolean(value); });
  }
  bool number_float(double value, const std::string& text) {
    return scalar([&] { return tree_.number_float(value, text); });
  }
  bool binary(Json::binary_t& value) {
    return scalar([&] { return tree_.binary(value); });
  }
  bool number_integer(std::int64_t value) {
    if (in_ == In::vocabulary) return token(value);
    return scalar([&] { return tree_.number_integer(value); });
  }
  bool number_unsigned(std::uint64_t value) {
    if (in_ == In::vocabulary) return token(value > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(value));
    return scalar([&] { return tree_.number_unsigned(value); });
  }
  bool string(std::string& value) {
    if (in_ == In::merges) return merge(value);
    if (in_ == In::pair) return half(value);
    return scalar([&] { return tree_.string(value); });
  }

  bool key(std::string& name) {
    if (in_ == In::vocabulary) {
      text_.token_read();
      key_ = std::move(name);
      return true;
    }
    if (depth_ == 1) {
      top_ = name;
      second_.clear();
    } else if (depth_ == 2) {
      second_ = name;
    }
    return tree_.key(name);
  }

  bool start_object(std::size_t count) {
    if (in_ == In::tree && stands_for("vocab")) return enter(In::vocabulary, has_vocabulary_);
    if (in_ != In::tree) unexpected();
    ++depth_;
    return tree_.start_object(count);
  }
  bool end_object() {
    if (in_ == In::vocabulary) return leave();
    --depth_;
    return tree_.end_object();
  }
  bool start_array(std::size_t count) {
    if (in_ == In::tree && stands_for("merges")) return enter(In::merges, has_merges_);
    if (in_ == In::merges) {
      in_ = In::pair;
      halves_ = 0;
      text_.token_read();
      return true;
    }
    if (in_ != In::tree) unexpected();
    ++depth_;
    return tree_.start_array(count);
  }
  bool end_array() {
    if (in_ == In::pair) {
      if (halves_ != 2) unexpected();
      in_ = In::merges;
      return visit_merge(left_, right_);
    }
    if (in_ == In::merges) return leave();
    --depth_;
    return tree_.end_array();
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) {
    return tree_.parse_error(position, token, error);
  }

 private:
  enum class In { tree, vocabulary, merges, pair };

  bool stands_for(std::string_view name) const { return depth_ == 2 && top_ == "model" && second_ == name; }
  bool enter(In in, bool& seen) {
    in_ = in;
    seen = true;
    return tree_.null();
  }
  bool leave() {
    in_ = In::tree;
    text_.token_read();
    return true;
  }

  template <class ToTree>
  bool scalar(const ToTree& to_tree) {
    if (in_ != In::tree) unexpected();
    return to_tree();
  }
  [[noreturn]] void unexpected() const {
    if (in_ == In::vocabulary) text_.fail(concat("model.vocab[", in_quotes(key_), "] is not an integer"));
    text_.fail(concat("model.merges[", merges_, "] is neither \"left right\" nor [\"left\", \"right\"]"));
  }

  bool token(std::int64_t id) {
    text_.token_read();
    try {
      visitor_.token(key_, id);
    } catch (const ValueError& error) {
      text_.fail(concat("model.vocab: ", error.what()));
    }
    return true;
  }
  bool merge(std::string& both) {
    const std::size_t space = both.find(' ');
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) unexpected();
    const std::string_view view = both;
    return visit_merge(view.substr(0, space), view.substr(space + 1));
  }
  bool half(std::string& value) {
    text_.token_read();
    if (++halves_ > 2) unexpected();
    (halves_ == 1 ? left_ : right_) = std::move(value);
    return true;
  }
  bool visit_merge(std::string_view left, std::string_view right) {
    text_.token_read();
    if (merges_ >= max_merges) text_.fail(concat("model.merges has more than ", max_merges, " entries"));
    try {
      visitor_.merge(left, right);
    } catch (const ValueError& error) {
      text_.fail(concat("model.merges[", merges_, "]: ", error.what()));
    }
    ++merges_;
    return true;
  }

  JsonText& text_;
  JsonTree tree_;
  Visitor& visitor_;
  In in_ = In::tree;
  std::string top_, second_, key_, left_, right_;
  std::size_t depth_ = 0, merges_ = 0;
  int halves_ = 0;
  bool has_vocabulary_ = false, has_merges_ = false;
};

}  // namespace llm::detail::tokenizer_json
