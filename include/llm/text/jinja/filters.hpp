// Filters of the values of a template, value | NAME(arguments): those that chat templates use. Others are refused by name.
// Source: Jinja's documentation, "List of Builtin Filters".
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/text/jinja/arguments.hpp>
#include <llm/text/jinja/elements.hpp>
#include <llm/text/jinja/json.hpp>
#include <llm/text/jinja/methods.hpp>
#include <llm/text/jinja/tests.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

inline Value filter(std::string_view name, const Value& value, const Arguments& arguments);

/// value | join(separator, attribute).
inline Value join(const Value& value, const Arguments& arguments) {
  arguments.expect(0, 2, {"d", "attribute"});
  const Site& at = arguments.at;
  const MarkedText* separator = arguments.find(0, "d") == nullptr ? nullptr : &arguments.text(0, "d");
  const MarkedText* attribute = arguments.find(1, "attribute") == nullptr ? nullptr : &arguments.text(1, "attribute");
  Joined out(at);
  bool first = true;
  for (const Value& element : elements(value, at)) {
    if (!std::exchange(first, false) && separator != nullptr) out.add(*separator);
    const Value* part = attribute == nullptr ? &element : find_field(element, attribute->bytes(), at);
    if (part != nullptr) out.add(printed(*part));
  }
  return std::move(out).value();
}

/// value | select("test", ...) and its kin: which elements, or which of their attributes, pass a test.
inline Value select(const Value& value, std::string_view name, const Arguments& arguments) {
  const Site& at = arguments.at;
  const bool by_attribute = name.ends_with("attr"), keep = name.starts_with("select");
  std::size_t taken = 0;
  const std::string_view attribute = by_attribute ? arguments.text(taken++).bytes() : std::string_view();
  const bool tested = arguments.values.size() > taken;
  const std::string_view which = tested ? arguments.text(taken++).bytes() : std::string_view();
  const Arguments rest = arguments.rest(taken, which);
  if (!value.truth()) return Value(List{});  // none has no elements here, as in Jinja
  List passed;
  for (const Value& element : elements(value, at)) {
    at.spend(64);
    const Value* found = by_attribute ? find_field(element, attribute, at) : &element;
    const Value subject = found != nullptr ? *found : Value(Undefined{});
    if ((tested ? test(which, subject, rest) : subject.truth()) == keep) passed.push_back(element);
  }
  return Value(std::move(passed));
}

/// value | map(attribute = "name", default = ...), or value | map("filter", ...).
inline Value map(const Value& value, const Arguments& arguments) {
  const Site& at = arguments.at;
  const bool by_attribute = arguments.values.empty();
  if (by_attribute) arguments.expect(1, 0, {"attribute", "default"});
  const std::string_view which = arguments.text(0, by_attribute ? "attribute" : "").bytes();
  const Arguments rest = by_attribute ? Arguments{.at = at} : arguments.rest(1, which);
  const Value* other = by_attribute ? arguments.find(0, "default") : nullptr;
  List out;
  if (!value.truth()) return Value(std::move(out));
  for (const Value& element : elements(value, at)) {
    at.spend(64);
    if (!by_attribute) {
      out.push_back(filter(which, element, rest));
      if (const MarkedText* text = out.back().text()) at.spend(text->weight());
      continue;
    }
    const Value* found = find_field(element, which, at);
    out.push_back(found != nullptr ? *found : other != nullptr ? *other : Value(Undefined{}));
  }
  return Value(std::move(out));
}

inline Value by_default(const Value& value, const Arguments& arguments) {
  arguments.expect(0, 2, {"default_value", "boolean"});
  const Value *other = arguments.find(0, "default_value"), *falsy = arguments.find(1, "boolean");
  const bool wanted = value.is_undefined() || (falsy != nullptr && falsy->truth() && !value.truth());
  return wanted ? other == nullptr ? Value(std::string()) : *other : value;
}

inline Value first_or_last(std::string_view name, const Value& value, const Site& at) {
  const List some = value.list() == nullptr ? elements(value, at) : List();
  const List& all = value.list() == nullptr ? some : *value.list();
  if (all.empty()) return Value(Undefined{});
  return name == "first" ? all.front() : all.back();
}

inline Value reversed(const Value& value, const Site& at) {
  List all = elements(value, at);
  std::reverse(all.begin(), all.end());
  return value.text() == nullptr ? Value(std::move(all)) : joined(all, at);
}

/// The filters without arguments; none when NAME is not one of them.
inline std::optional<Value> filter_alone(std::string_view name, const Value& value, const Site& at) {
  if (name == "length" || name == "count") return Value(length(value, at));
  if (name == "list") return Value(elements(value, at));
  if (name == "string") return Value(printed(value));
  if (name == "safe") return value;
  if (name == "int" && value.integer()) return Value(*value.integer());
  if (name == "first" || name == "last") return first_or_last(name, value, at);
  if (name == "reverse") return reversed(value, at);
  return {};
}

/// value | NAME(arguments).
inline Value filter(std::string_view name, const Value& value, const Arguments& arguments) {
  const Site& at = arguments.at;
  if (name == "default" || name == "d") return by_default(value, arguments);
  if (name == "join") return join(value, arguments);
  if (name == "selectattr" || name == "rejectattr" || name == "select" || name == "reject") return select(value, name, arguments);
  if (name == "map") return map(value, arguments);
  if (name == "items") return value.is_undefined() ? Value(List{}) : method(value, "items", arguments);
  if (name == "tojson") {
    arguments.expect(0, 0, {"ensure_ascii"});
    return Value(JsonWriter(at).write(value));
  }
  if (name == "trim" || name == "upper" || name == "lower" || name == "title" || name == "capitalize" || name == "replace")
    return method(printed(value), name == "trim" ? "strip" : name, arguments);
  if (auto result = filter_alone(name, value, at)) {
    arguments.expect(0, 0);
    return *std::move(result);
  }
  fail(at.line, "the filter ", in_quotes(name), " is not known");
}

}  // namespace llm::detail::jinja
