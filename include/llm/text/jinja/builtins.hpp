// Filters, tests and methods of the values of a template: those that chat templates use. Others are refused by name.
// Source: Jinja's documentation, "List of Builtin Filters" and "List of Builtin Tests"; Python's str and dict.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/jinja/lexer.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// A list of more is refused: no conversation needs it.
inline void check_elements(std::size_t count, std::size_t line) {
  constexpr std::size_t most = std::size_t{1} << 18;
  if (count > most) fail(line, "a list of more than ", most, " elements");
}

/// The arguments of a call, and where it stands.
struct Arguments {
  std::size_t line = 0;
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
      fail(line, in_quotes(of), " has ", values.size() + named.size(), " arguments, expected ", least, most > least ? " or more" : "");
    for (const auto& [key, value] : named)
      if (std::find(names.begin(), names.end(), key) == names.end()) fail(line, in_quotes(of), " has no argument ", in_quotes(key));
  }
  const MarkedText& text(std::size_t place, std::string_view name = "") const {
    const Value* value = find(place, name);
    if (value == nullptr || value->text() == nullptr)
      fail(line, in_quotes(of), " has ", value == nullptr ? "nothing" : value->type_name(), " as an argument, expected a text");
    return *value->text();
  }
};

/// The text without the characters of `set`, or white space when there is none, at the sides asked for.
inline MarkedText stripped(const MarkedText& text, const MarkedText* set, bool left, bool right) {
  std::size_t begin = 0, end = text.size();
  const std::vector<std::size_t> at = characters_of(text);
  const auto is_stripped = [&](std::size_t i) {
    if (set == nullptr) return is_python_space(read_utf8(text.bytes(), at[i]).code_point);
    return set->bytes().find(text.bytes().substr(at[i], at[i + 1] - at[i])) != std::string_view::npos;
  };
  std::size_t first = 0, last = at.size() - 1;
  while (left && first < last && is_stripped(first)) ++first;
  while (right && last > first && is_stripped(last - 1)) --last;
  begin = at[first];
  end = at[last];
  return text.substr(begin, end - begin);
}

inline MarkedText replaced(const MarkedText& text, const MarkedText& what, const MarkedText& by, std::size_t line) {
  if (what.size() == 0) fail(line, "'replace' of an empty text");
  MarkedText out;
  std::size_t done = 0;
  for (std::size_t at; (at = text.bytes().find(what.bytes(), done)) != std::string_view::npos; done = at + what.size()) {
    out += text.substr(done, at - done);
    out += by;
    if (out.size() > (std::size_t{1} << 28)) fail(line, "'replace' makes a text too long");
  }
  return out += text.substr(done);
}

/// Letters beyond ASCII keep their case only where the template does not touch them: refused rather than got wrong.
inline MarkedText in_case(const MarkedText& text, std::string_view how, std::size_t line) {
  bool inside = false;
  const bool each_word = how == "title", first_only = how == "capitalize";
  return text.map_bytes([&](char c) {
    if (static_cast<unsigned char>(c) >= 0x80) fail(line, in_quotes(how), " of letters beyond ASCII is not known");
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool up = how == "upper" || ((each_word || first_only) && !inside);
    inside = first_only || letter;
    if (!letter) return c;
    return static_cast<char>(up ? c & ~0x20 : c | 0x20);
  });
}

/// str.split: at a separator, or at runs of white space.
inline List split(const MarkedText& text, const MarkedText* separator, std::int64_t most, std::size_t line) {
  List parts;
  std::size_t done = 0;
  const auto more = [&] { return most < 0 || static_cast<std::int64_t>(parts.size()) < most; };
  if (separator != nullptr) {
    if (separator->size() == 0) fail(line, "'split' at an empty text");
    for (std::size_t at; more() && (at = text.bytes().find(separator->bytes(), done)) != std::string_view::npos;
         done = at + separator->size()) {
      parts.emplace_back(text.substr(done, at - done));
      check_elements(parts.size(), line);
    }
    parts.emplace_back(text.substr(done));
    return parts;
  }
  const std::string_view bytes = text.bytes();
  for (std::size_t at = leading_space(bytes); at < bytes.size();) {
    std::size_t end = more() ? at : bytes.size();
    while (end < bytes.size() && !is_python_space(read_utf8(bytes, end).code_point)) end += read_utf8(bytes, end).length;
    parts.emplace_back(text.substr(at, end - at));
    check_elements(parts.size(), line);
    at = end + leading_space(bytes.substr(end));
  }
  return parts;
}

/// The elements that a loop visits.
inline List elements(const Value& value, std::size_t line) {
  List all;
  if (const List* list = value.list()) return *list;
  if (const MarkedText* text = value.text()) {
    const auto at = characters_of(*text);
    check_elements(at.size(), line);
    for (std::size_t i = 0; i + 1 < at.size(); ++i) all.emplace_back(text->substr(at[i], at[i + 1] - at[i]));
  } else if (const Dict* dict = value.dict()) {
    for (const auto& item : dict->items()) all.emplace_back(item.first);
  } else if (!value.is_undefined()) {
    fail(line, value.type_name(), " has no elements");
  }
  return all;
}

inline std::int64_t length(const Value& value, std::size_t line) {
  if (const List* list = value.list()) return static_cast<std::int64_t>(list->size());
  if (const MarkedText* text = value.text()) return static_cast<std::int64_t>(characters_of(*text).size()) - 1;
  if (const Dict* dict = value.dict()) return static_cast<std::int64_t>(dict->items().size());
  if (value.is_undefined()) return 0;
  fail(line, value.type_name(), " has no length");
}

inline bool contains(const Value& all, const Value& one, std::size_t line) {
  if (const List* list = all.list()) return std::find(list->begin(), list->end(), one) != list->end();
  if (all.is_undefined()) return false;
  const MarkedText* letters = one.text();
  if (const MarkedText* text = all.text(); text != nullptr && letters != nullptr)
    return text->bytes().find(letters->bytes()) != std::string_view::npos;
  if (const Dict* dict = all.dict()) return letters != nullptr && dict->find(letters->bytes()) != nullptr;
  fail(line, "'in' of ", one.type_name(), " and ", all.type_name());
}

/// -1, 0 or 1.
inline int order(const Value& a, const Value& b, std::size_t line) {
  if (const auto left = a.integer(), right = b.integer(); left && right) return *left < *right ? -1 : *left > *right ? 1 : 0;
  if (a.text() == nullptr || b.text() == nullptr) fail(line, a.type_name(), " and ", b.type_name(), " have no order");
  const int sign = a.text()->bytes().compare(b.text()->bytes());
  return sign < 0 ? -1 : sign > 0 ? 1 : 0;
}

/// value is NAME(arguments).
inline bool test(std::string_view name, const Value& value, const Arguments& arguments) {
  const auto other = [&]() -> const Value& {
    arguments.expect(1, 1);
    return arguments.values.front();
  };
  const bool number = value.integer() && value.boolean() == nullptr;
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.text() != nullptr;
  if (name == "boolean") return value.boolean() != nullptr;
  if (name == "integer") return number;
  if (name == "number") return value.integer().has_value();
  if (name == "mapping") return value.dict() != nullptr && value.fields() == nullptr;
  if (name == "iterable" || name == "sequence")
    return value.text() != nullptr || value.list() != nullptr || (value.dict() != nullptr && value.fields() == nullptr) ||
           value.is_undefined();
  if (name == "callable") return value.function() != nullptr;
  if (name == "true") return value.boolean() != nullptr && *value.boolean();
  if (name == "false") return value.boolean() != nullptr && !*value.boolean();
  if (name == "odd" || name == "even") {
    if (!value.integer()) fail(arguments.line, value.type_name(), " is neither odd nor even");
    return (*value.integer() % 2 != 0) == (name == "odd");
  }
  if (name == "eq" || name == "equalto" || name == "==" || name == "sameas") return value == other();
  if (name == "ne" || name == "!=") return !(value == other());
  if (name == "lt" || name == "lessthan") return order(value, other(), arguments.line) < 0;
  if (name == "gt" || name == "greaterthan") return order(value, other(), arguments.line) > 0;
  if (name == "le") return order(value, other(), arguments.line) <= 0;
  if (name == "ge") return order(value, other(), arguments.line) >= 0;
  if (name == "in") return contains(other(), value, arguments.line);
  fail(arguments.line, "the test ", in_quotes(name), " is not known");
}

/// object.NAME(arguments) of a text or a dictionary.
inline Value method(const Value& object, std::string_view name, const Arguments& arguments) {
  const std::size_t line = arguments.line;
  const auto count = [&](std::size_t place) {
    const Value* given = arguments.find(place, "maxsplit");
    return given == nullptr ? std::int64_t{-1} : given->integer().value_or(-1);
  };
  if (const MarkedText* text = object.text()) {
    const bool left = name == "lstrip", right = name == "rstrip";
    if (left || right || name == "strip") {
      arguments.expect(0, 1);
      return Value(stripped(*text, arguments.values.empty() ? nullptr : &arguments.text(0), !right, !left));
    }
    if (name == "split") {
      arguments.expect(0, 2, {"sep", "maxsplit"});
      const Value* separator = arguments.find(0, "sep");
      return Value(split(*text, separator == nullptr || separator->is_none() ? nullptr : &arguments.text(0, "sep"), count(1), line));
    }
    if (name == "startswith" || name == "endswith") {
      arguments.expect(1, 1);
      const Value& given = arguments.values[0];
      const List any = given.list() != nullptr ? *given.list() : List{given};
      return Value(std::any_of(any.begin(), any.end(), [&](const Value& one) {
        if (one.text() == nullptr) fail(line, in_quotes(name), " of ", one.type_name());
        return name == "startswith" ? text->bytes().starts_with(one.text()->bytes()) : text->bytes().ends_with(one.text()->bytes());
      }));
    }
    if (name == "replace") {
      arguments.expect(2, 2);
      return Value(replaced(*text, arguments.text(0), arguments.text(1), line));
    }
    if (name == "upper" || name == "lower" || name == "title" || name == "capitalize") return Value(in_case(*text, name, line));
    if (name == "find") {
      arguments.expect(1, 1);
      const std::size_t at = text->bytes().find(arguments.text(0).bytes());
      return Value(at == std::string_view::npos ? std::int64_t{-1} : length(Value(text->substr(0, at)), line));
    }
  }
  if (const Dict* dict = object.dict()) {
    if (name == "get") {
      arguments.expect(1, 2);
      const Value* found = dict->find(arguments.text(0).bytes());
      return found != nullptr ? *found : arguments.values.size() > 1 ? arguments.values[1] : Value();
    }
    List all;
    for (const auto& [key, value] : dict->items()) {
      if (name == "items") all.emplace_back(List{Value(key), value});
      if (name == "keys") all.emplace_back(key);
      if (name == "values") all.push_back(value);
    }
    if (name == "items" || name == "keys" || name == "values") return Value(std::move(all));
  }
  fail(line, object.type_name(), " has no ", in_quotes(name), " to call");
}

/// value | join(separator, attribute).
inline Value join(const Value& value, const Arguments& arguments) {
  arguments.expect(0, 2, {"d", "attribute"});
  const MarkedText none;
  const MarkedText& separator = arguments.find(0, "d") == nullptr ? none : arguments.text(0, "d");
  const Value* attribute = arguments.find(1, "attribute");
  MarkedText out;
  bool first = true;
  for (const Value& element : elements(value, arguments.line)) {
    if (!std::exchange(first, false)) out += separator;
    const Dict* dict = attribute == nullptr ? nullptr : element.dict();
    const Value* field = dict == nullptr ? nullptr : dict->find(arguments.text(1, "attribute").bytes());
    out += attribute == nullptr ? printed(element) : field == nullptr ? MarkedText() : printed(*field);
  }
  return Value(std::move(out));
}

/// value | select("test", ...) and its kin: which elements, or which of their attributes, pass a test.
inline Value select(const Value& value, std::string_view name, const Arguments& arguments) {
  const bool by_attribute = name.ends_with("attr"), keep = name.starts_with("select");
  std::size_t taken = 0;
  const std::string attribute = by_attribute ? std::string(arguments.text(taken++).bytes()) : std::string();
  const bool tested = arguments.values.size() > taken;
  const std::string which = tested ? std::string(arguments.text(taken++).bytes()) : std::string();
  if (!value.truth()) return Value(List{});  // none has no elements here, as in Jinja
  Arguments rest{.line = arguments.line, .of = which};
  for (; taken < arguments.values.size(); ++taken) rest.values.push_back(arguments.values[taken]);
  List passed;
  for (const Value& element : elements(value, arguments.line)) {
    const Value* field = by_attribute && element.dict() != nullptr ? element.dict()->find(attribute) : nullptr;
    const Value subject = !by_attribute ? element : field != nullptr ? *field : Value(Undefined{attribute});
    if ((tested ? test(which, subject, rest) : subject.truth()) == keep) passed.push_back(element);
  }
  return Value(std::move(passed));
}

/// value | NAME(arguments).
inline Value filter(std::string_view name, const Value& value, const Arguments& arguments) {
  const std::size_t line = arguments.line;
  if (name == "default" || name == "d") {
    arguments.expect(0, 2, {"default_value", "boolean"});
    const Value *other = arguments.find(0, "default_value"), *falsy = arguments.find(1, "boolean");
    const bool wanted = value.is_undefined() || (falsy != nullptr && falsy->truth() && !value.truth());
    return wanted ? other == nullptr ? Value(std::string()) : *other : value;
  }
  if (name == "tojson") {
    arguments.expect(0, 0, {"ensure_ascii"});
    MarkedText out;
    append_json(out, value);
    return Value(std::move(out));
  }
  if (name == "join") return join(value, arguments);
  if (name == "selectattr" || name == "rejectattr" || name == "select" || name == "reject") return select(value, name, arguments);
  if (name == "length" || name == "count") return Value(length(value, line));
  if (name == "list") return Value(elements(value, line));
  if (name == "string") return Value(printed(value));
  if (name == "safe") return value;
  if (name == "int" && value.integer()) return Value(*value.integer());
  if (name == "items") return value.is_undefined() ? Value(List{}) : method(value, "items", arguments);
  if (name == "first" || name == "last") {
    const List all = elements(value, line);
    if (all.empty()) return Value(Undefined{std::string(name)});
    return name == "first" ? all.front() : all.back();
  }
  if (name == "reverse") {
    List all = elements(value, line);
    std::reverse(all.begin(), all.end());
    if (value.text() == nullptr) return Value(std::move(all));
    return join(Value(std::move(all)), {.line = line, .of = name});
  }
  if (name == "map") {
    const Value* attribute = arguments.find(arguments.values.size(), "attribute");
    List out;
    if (!value.truth()) return Value(std::move(out));
    for (const Value& element : elements(value, line)) {
      const Value* field = attribute == nullptr || element.dict() == nullptr ? nullptr : element.dict()->find(printed(*attribute).bytes());
      if (attribute != nullptr)
        out.push_back(field != nullptr ? *field : Value(Undefined{std::string(printed(*attribute).bytes())}));
      else
        out.push_back(filter(arguments.text(0).bytes(), element, {.line = line, .of = "map"}));
    }
    return Value(std::move(out));
  }
  if (name == "trim" || name == "upper" || name == "lower" || name == "title" || name == "capitalize" || name == "replace") {
    const Value text(printed(value));
    return method(text, name == "trim" ? "strip" : name, arguments);
  }
  fail(line, "the filter ", in_quotes(name), " is not known");
}

}  // namespace llm::detail::jinja
