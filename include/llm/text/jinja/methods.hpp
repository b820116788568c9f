// Methods of the values of a template, object.NAME(arguments): those that chat templates use. Others are refused by name.
// Source: Python's documentation of str and dict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/text/jinja/arguments.hpp>
#include <llm/text/jinja/elements.hpp>
#include <llm/text/jinja/texts.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

inline bool begins_or_ends(const MarkedText& text, std::string_view name, const Arguments& arguments) {
  arguments.expect(1, 1);
  const Site& at = arguments.at;
  const auto matches = [&](const Value& one) {
    if (one.text() == nullptr) fail(at.line, in_quotes(name), " of ", one.type_name());
    at.spend(8 + one.text()->size() / 16);
    return name == "startswith" ? text.bytes().starts_with(one.text()->bytes()) : text.bytes().ends_with(one.text()->bytes());
  };
  const Value& given = arguments.values[0];
  if (given.list() == nullptr) return matches(given);
  return std::any_of(given.list()->begin(), given.list()->end(), matches);
}

inline Value split(const MarkedText& text, const Arguments& arguments) {
  arguments.expect(0, 2, {"sep", "maxsplit"});
  const Value *separator = arguments.find(0, "sep"), *most = arguments.find(1, "maxsplit");
  return Value(split(text, separator == nullptr || separator->is_none() ? nullptr : &arguments.text(0, "sep"),
                     most == nullptr ? -1 : most->integer().value_or(-1), arguments.at));
}

inline Value method(const MarkedText& text, std::string_view name, const Arguments& arguments) {
  const Site& at = arguments.at;
  if (const bool left = name == "lstrip", right = name == "rstrip"; left || right || name == "strip") {
    arguments.expect(0, 1);
    return Value(stripped(text, arguments.values.empty() ? nullptr : &arguments.text(0), !right, !left, at));
  }
  if (name == "split") return split(text, arguments);
  if (name == "startswith" || name == "endswith") return Value(begins_or_ends(text, name, arguments));
  if (name == "replace") {
    arguments.expect(2, 2);
    return Value(replaced(text, arguments.text(0), arguments.text(1), at));
  }
  if (name == "find") {
    arguments.expect(1, 1);
    const std::size_t found = find_text(text, arguments.text(0), at);
    const bool none = found == std::string_view::npos;
    return Value(none ? std::int64_t{-1} : static_cast<std::int64_t>(count_characters(text.bytes().substr(0, found), at)));
  }
  if (name != "upper" && name != "lower" && name != "title" && name != "capitalize")
    fail(at.line, "a text has no ", in_quotes(name), " to call");
  arguments.expect(0, 0);
  return Value(in_case(text, name, at));
}

inline Value method(const Dict& dict, std::string_view name, const Arguments& arguments) {
  const Site& at = arguments.at;
  if (name == "get") {
    arguments.expect(1, 2);
    const Value* found = dict.find(arguments.text(0).bytes(), at);
    return found != nullptr ? *found : arguments.values.size() > 1 ? arguments.values[1] : Value();
  }
  const bool items = name == "items", keys = name == "keys";
  if (!items && !keys && name != "values") fail(at.line, "a dictionary has no ", in_quotes(name), " to call");
  arguments.expect(0, 0);
  List all;
  for (const auto& [key, value] : dict.items()) {
    at.spend(128 + key.size());
    all.push_back(items ? Value(List{Value(key), value}) : keys ? Value(key) : value);
  }
  return Value(std::move(all));
}

inline Value method(const Value& object, std::string_view name, const Arguments& arguments) {
  if (object.text() != nullptr) return method(*object.text(), name, arguments);
  if (object.dict() != nullptr) return method(*object.dict(), name, arguments);
  fail(arguments.at.line, object.type_name(), " has no ", in_quotes(name), " to call");
}

}  // namespace llm::detail::jinja
