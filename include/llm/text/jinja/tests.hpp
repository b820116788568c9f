// Comparisons, and the tests of Jinja ("x is NAME"): those that chat templates use. Others are refused by name.
// Source: Jinja's documentation, "List of Builtin Tests".
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include <llm/text/jinja/arguments.hpp>
#include <llm/text/jinja/texts.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// a == b, as in Python; namespaces are equal when they are one. Pays for every value that it visits: parts may be shared, and then their
/// number grows with every level.
inline bool equal(const Value& a, const Value& b, const Site& at) {
  at.spend(8);
  if (const auto left = a.integer(), right = b.integer(); left && right) return *left == *right;
  if (a.kind() != b.kind()) return false;
  if (a.fields() != nullptr) return a.fields() == b.fields();
  if (const MarkedText* text = a.text()) {
    if (text->size() != b.text()->size()) return false;
    at.spend(text->size() / 16);
    return text->bytes() == b.text()->bytes();
  }
  if (const List* list = a.list())
    return std::equal(list->begin(), list->end(), b.list()->begin(), b.list()->end(),
                      [&](const Value& left, const Value& right) { return equal(left, right, at); });
  if (const Dict* dict = a.dict()) {
    if (dict->items().size() != b.dict()->items().size()) return false;
    return std::all_of(dict->items().begin(), dict->items().end(), [&](const auto& item) {
      const Value* other = b.dict()->find(item.first, at);
      return other != nullptr && equal(*other, item.second, at);
    });
  }
  return a.is_none() || a.is_undefined();
}

/// one in all.
inline bool contains(const Value& all, const Value& one, const Site& at) {
  if (const List* list = all.list())
    return std::any_of(list->begin(), list->end(), [&](const Value& element) { return equal(element, one, at); });
  if (all.is_undefined()) return false;
  const MarkedText* letters = one.text();
  if (all.text() != nullptr && letters != nullptr) return find_text(*all.text(), *letters, at) != std::string_view::npos;
  if (const Dict* dict = all.dict()) return letters != nullptr && dict->find(letters->bytes(), at) != nullptr;
  fail(at.line, "'in' of ", one.type_name(), " and ", all.type_name());
}

/// -1, 0 or 1.
inline int order(const Value& a, const Value& b, const Site& at) {
  if (const auto left = a.integer(), right = b.integer(); left && right) return *left < *right ? -1 : *left > *right ? 1 : 0;
  if (a.text() == nullptr || b.text() == nullptr) fail(at.line, a.type_name(), " and ", b.type_name(), " have no order");
  at.spend((std::min)(a.text()->size(), b.text()->size()) / 16);
  const int sign = a.text()->bytes().compare(b.text()->bytes());
  return sign < 0 ? -1 : sign > 0 ? 1 : 0;
}

/// The tests of a value alone; none when NAME is not one of them.
inline std::optional<bool> test_alone(std::string_view name, const Value& value, const Site& at) {
  const bool boolean = value.boolean() != nullptr, mapping = value.dict() != nullptr && value.fields() == nullptr;
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.text() != nullptr;
  if (name == "boolean") return boolean;
  if (name == "integer") return value.integer().has_value() && !boolean;
  if (name == "number") return value.integer().has_value();
  if (name == "mapping") return mapping;
  if (name == "iterable" || name == "sequence")
    return value.text() != nullptr || value.list() != nullptr || mapping || value.is_undefined();
  if (name == "callable") return value.function() != nullptr;
  if (name == "true") return boolean && *value.boolean();
  if (name == "false") return boolean && !*value.boolean();
  if (name != "odd" && name != "even") return {};
  if (!value.integer()) fail(at.line, value.type_name(), " is neither odd nor even");
  return (*value.integer() % 2 != 0) == (name == "odd");
}

/// The tests that compare a value with another; none when NAME is not one of them.
inline std::optional<bool> test_against(std::string_view name, const Value& value, const Value& other, const Site& at) {
  if (name == "eq" || name == "equalto" || name == "==" || name == "sameas") return equal(value, other, at);
  if (name == "ne" || name == "!=") return !equal(value, other, at);
  if (name == "lt" || name == "lessthan") return order(value, other, at) < 0;
  if (name == "gt" || name == "greaterthan") return order(value, other, at) > 0;
  if (name == "le") return order(value, other, at) <= 0;
  if (name == "ge") return order(value, other, at) >= 0;
  if (name == "in") return contains(other, value, at);
  return {};
}

/// value is NAME(arguments).
inline bool test(std::string_view name, const Value& value, const Arguments& arguments) {
  if (const auto result = test_alone(name, value, arguments.at)) {
    arguments.expect(0, 0);
    return *result;
  }
  const bool other = !arguments.values.empty();
  if (const auto result = test_against(name, value, other ? arguments.values.front() : Value(), arguments.at)) {
    arguments.expect(1, 1);
    return *result;
  }
  fail(arguments.at.line, "the test ", in_quotes(name), " is not known");
}

}  // namespace llm::detail::jinja
