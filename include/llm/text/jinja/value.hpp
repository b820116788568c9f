// What a template computes with: texts, integers, booleans, none, lists, dictionaries, functions; they behave as Python's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/jinja/marked_text.hpp>
#include <llm/text/jinja/syntax.hpp>
#include <llm/text/utf8.hpp>

namespace llm::detail::jinja {

class Value;
using List = std::vector<Value>;

/// A dictionary in the order in which it was filled; few keys, so that looking one up is a walk.
class Dict {
 public:
  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
  const std::vector<std::pair<std::string, Value>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, Value>> items_;
};

/// A variable that was never set; it prints as nothing.
struct Undefined {
  std::string name;
};
struct None {};
/// What namespace() gives: the only thing that a template can change.
struct Namespace {
  std::shared_ptr<Dict> fields;
};
/// Something to call: a macro of the template, else a function by its name.
struct Function {
  std::string name;
  const Statement* macro = nullptr;
};

/// Copies share what they hold.
class Value {
 public:
  using Held = std::variant<Undefined, None, bool, std::int64_t, std::shared_ptr<const MarkedText>, std::shared_ptr<const List>,
                            std::shared_ptr<const Dict>, Namespace, Function>;

  Value() : held_(None{}) {}
  explicit Value(Undefined undefined) : held_(std::move(undefined)) {}
  explicit Value(bool boolean) : held_(boolean) {}
  explicit Value(std::int64_t integer) : held_(integer) {}
  explicit Value(MarkedText text) : held_(std::make_shared<const MarkedText>(std::move(text))) {}
  explicit Value(std::string text) : Value(MarkedText(std::move(text))) {}
  explicit Value(List list) : held_(std::make_shared<const List>(std::move(list))) {}
  explicit Value(Dict dict) : held_(std::make_shared<const Dict>(std::move(dict))) {}
  explicit Value(Namespace space) : held_(std::move(space)) {}
  explicit Value(Function function) : held_(std::move(function)) {}

  bool is_undefined() const { return std::holds_alternative<Undefined>(held_); }
  bool is_none() const { return std::holds_alternative<None>(held_); }
  const bool* boolean() const { return std::get_if<bool>(&held_); }
  const Function* function() const { return std::get_if<Function>(&held_); }
  const MarkedText* text() const { return get<MarkedText>(); }
  const List* list() const { return get<List>(); }
  /// Of a namespace too.
  const Dict* dict() const {
    if (const auto* space = std::get_if<Namespace>(&held_)) return space->fields.get();
    return get<Dict>();
  }
  Dict* fields() const {
    const auto* space = std::get_if<Namespace>(&held_);
    return space == nullptr ? nullptr : space->fields.get();
  }
  /// An integer; in Python a boolean is one.
  std::optional<std::int64_t> integer() const {
    if (const bool* flag = boolean()) return *flag ? 1 : 0;
    if (const auto* number = std::get_if<std::int64_t>(&held_)) return *number;
    return {};
  }

  bool truth() const {
    if (const auto number = integer()) return *number != 0;
    if (const MarkedText* letters = text()) return letters->size() > 0;
    if (const List* all = list()) return !all->empty();
    if (const Dict* all = dict()) return fields() != nullptr || !all->items().empty();
    return function() != nullptr;
  }

  std::string_view type_name() const {
    constexpr std::string_view names[]{"undefined", "none",         "a boolean",   "an integer", "a text",
                                       "a list",    "a dictionary", "a namespace", "a function"};
    return names[held_.index()];
  }

  friend bool operator==(const Value& a, const Value& b);

 private:
  template <class T>
  const T* get() const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }

  Held held_;
};

inline const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items_)
    if (name == key) return &value;
  return nullptr;
}
inline void Dict::set(std::string_view key, Value value) {
  for (auto& [name, old] : items_)
    if (name == key) return void(old = std::move(value));
  items_.emplace_back(std::string(key), std::move(value));
}

inline bool operator==(const Value& a, const Value& b) {
  if (const auto left = a.integer(), right = b.integer(); left && right) return *left == *right;
  if (a.held_.index() != b.held_.index()) return false;
  if (const MarkedText* text = a.text()) return text->bytes() == b.text()->bytes();
  if (const List* list = a.list()) return *list == *b.list();
  if (const Dict* dict = a.dict()) {
    const auto is_in_b = [&](const auto& item) {
      const Value* other = b.dict()->find(item.first);
      return other != nullptr && *other == item.second;
    };
    return dict->items().size() == b.dict()->items().size() && std::all_of(dict->items().begin(), dict->items().end(), is_in_b);
  }
  return a.is_none() || a.is_undefined();
}

/// Characters are what Python counts in a text; `at` is where each begins, and the end.
inline std::vector<std::size_t> characters_of(const MarkedText& text) {
  std::vector<std::size_t> at;
  at.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); i += read_utf8(text.bytes(), i).length) at.push_back(i);
  at.push_back(text.size());
  return at;
}

/// As Python's json.dumps(value, ensure_ascii=False), appended.
inline void append_json(MarkedText& out, const Value& value) {
  const auto put = [&](std::string text) { out += MarkedText(std::move(text)); };
  const auto put_text = [&](const MarkedText& text) {
    put("\"");
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text.bytes()[i]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out += text.substr(done, i - done);
      done = i + 1;
      constexpr std::string_view special = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
      const auto which = special.find(static_cast<char>(c));
      constexpr std::string_view hex = "0123456789abcdef";
      put(which != std::string_view::npos ? std::string{'\\', letters[which]} : std::string("\\u00") + hex[c >> 4] + hex[c & 15]);
    }
    out += text.substr(done);
    put("\"");
  };
  const char* separator = "";
  if (value.is_none()) return put("null");
  if (const bool* flag = value.boolean()) return put(*flag ? "true" : "false");
  if (const auto number = value.integer()) return put(std::to_string(*number));
  if (const MarkedText* text = value.text()) return put_text(*text);
  if (const List* list = value.list()) {
    put("[");
    for (const Value& element : *list) {
      put(std::exchange(separator, ", "));
      append_json(out, element);
    }
    return put("]");
  }
  if (const Dict* dict = value.dict(); dict != nullptr && value.fields() == nullptr) {
    put("{");
    for (const auto& [key, element] : dict->items()) {
      put(std::exchange(separator, ", "));
      put_text(MarkedText(key));
      put(": ");
      append_json(out, element);
    }
    return put("}");
  }
  throw ValueError(concat("llm::ChatTemplate: ", value.type_name(), " has no JSON"));
}

/// How a value prints; a list or a dictionary has no form that a template should rely on, and is refused.
inline MarkedText printed(const Value& value) {
  if (const MarkedText* text = value.text()) return *text;
  if (value.is_undefined()) return {};
  if (value.is_none()) return MarkedText("None");
  if (const bool* flag = value.boolean()) return MarkedText(*flag ? "True" : "False");
  if (const auto number = value.integer()) return MarkedText(std::to_string(*number));
  throw ValueError(concat("llm::ChatTemplate: ", value.type_name(), " cannot be printed (hint: | tojson)"));
}

}  // namespace llm::detail::jinja
