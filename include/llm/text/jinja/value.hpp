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
#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/marked_text.hpp>
#include <llm/text/jinja/syntax.hpp>

namespace llm::detail::jinja {

class Value;
using List = std::vector<Value>;

/// A dictionary in the order in which it was filled; few keys, so that looking one up is a walk.
class Dict {
 public:
  /// The value of a key, or null. A template pays for the walk first.
  const Value* find(std::string_view key, const Site& at) const;
  /// Sets a key, at the template's cost.
  void set(std::string_view key, Value value, const Site& at);
  /// The same of what the library gives a template.
  void set(std::string_view key, Value value);
  const std::vector<std::pair<std::string, Value>>& items() const { return items_; }

 private:
  std::size_t cost_of_walk(std::string_view key) const;

  std::vector<std::pair<std::string, Value>> items_;
};

/// A variable that was never set; it prints as nothing.
struct Undefined {};
struct None {};
/// What namespace() gives: the only thing that a template can change. It stands in variables only, never inside a value, so that no value
/// holds itself.
struct Namespace {
  std::shared_ptr<Dict> fields;
};
/// Something to call: a macro of the template, else a function by its name, which is a literal.
struct Function {
  std::string_view name;
  const Statement* macro = nullptr;
};

/// Copies share what they hold. Lists and dictionaries are at most max_depth deep in each other, so that walks over them may recurse.
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
  explicit Value(List list);
  explicit Value(Dict dict);
  explicit Value(Namespace space) : held_(std::move(space)) {}
  explicit Value(Function function) : held_(function) {}

  static constexpr int max_depth = 100;

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

  /// The place in Held of what is held.
  std::size_t kind() const { return held_.index(); }
  /// What must hold of an element of a list, or a field of a dictionary or a namespace. Throws ValueError.
  void check_can_be_inside() const {
    if (fields() != nullptr) throw ValueError("llm::ChatTemplate: a namespace inside another value");
    if (depth_ >= max_depth) throw ValueError("llm::ChatTemplate: a value is nested too deeply");
  }

 private:
  void put_inside(const Value& element) {
    element.check_can_be_inside();
    depth_ = (std::max)(depth_, element.depth_ + 1);
  }
  template <class T>
  const T* get() const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }

  Held held_;
  int depth_ = 0;  // of a list or a dictionary: how many are inside each other in it
};

inline std::size_t Dict::cost_of_walk(std::string_view key) const { return items_.size() * (1 + key.size() / 16) / 4; }
inline const Value* Dict::find(std::string_view key, const Site& at) const {
  at.spend(cost_of_walk(key));
  for (const auto& [name, value] : items_)
    if (name == key) return &value;
  return nullptr;
}
inline void Dict::set(std::string_view key, Value value) {
  for (auto& [name, old] : items_)
    if (name == key) return void(old = std::move(value));
  items_.emplace_back(std::string(key), std::move(value));
}

inline void Dict::set(std::string_view key, Value value, const Site& at) {
  at.spend(64 + key.size() + cost_of_walk(key));
  set(key, std::move(value));
}

inline Value::Value(List list) {
  for (const Value& element : list) put_inside(element);
  held_ = std::make_shared<const List>(std::move(list));
}
inline Value::Value(Dict dict) {
  for (const auto& item : dict.items()) put_inside(item.second);
  held_ = std::make_shared<const Dict>(std::move(dict));
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
