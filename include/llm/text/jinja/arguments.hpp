// The arguments of a call in a template.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// What a call was given, and where it stands.
struct Arguments {
  Site at;
  std::string_view of = {};  ///< for errors
  std::vector<Value> values = {};
  std::vector<std::pair<std::string, Value>> named = {};

  /// The argument at a place or of a name; null when it is not given.
  const Value* find(std::size_t place, std::string_view name) const {
    if (place < values.size()) return &values[place];
    for (const auto& [key, value] : named)
      if (key == name) return &value;
    return nullptr;
  }
  void expect(std::size_t least, std::size_t most, std::initializer_list<std::string_view> names = {}) const {
    if (values.size() > most || values.size() + named.size() < least)
      fail(at.line, in_quotes(of), " has ", values.size() + named.size(), " arguments, expected ", least, most > least ? " or more" : "");
    for (const auto& [key, value] : named)
      if (std::find(names.begin(), names.end(), key) == names.end()) fail(at.line, in_quotes(of), " has no argument ", in_quotes(key));
  }
  const MarkedText& text(std::size_t place, std::string_view name = "") const {
    const Value* value = find(place, name);
    if (value == nullptr || value->text() == nullptr)
      fail(at.line, in_quotes(of), " has ", value == nullptr ? "nothing" : value->type_name(), " as an argument, expected a text");
    return *value->text();
  }
  /// Those behind the first `taken`, for a call of another name.
  Arguments rest(std::size_t taken, std::string_view name) const {
    Arguments all{.at = at, .of = name, .named = named};
    for (; taken < values.size(); ++taken) all.values.push_back(values[taken]);
    return all;
  }
};

}  // namespace llm::detail::jinja
