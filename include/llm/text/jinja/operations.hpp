// What operators do with values: indices, slices, sums, comparisons, as in Python.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/text/jinja/builtins.hpp>
#include <llm/text/jinja/lexer.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// object.name.
inline Value field(const Value& object, const std::string& name, std::size_t line) {
  if (object.is_undefined()) fail(line, in_quotes(name), " of something that is undefined");
  const Value* found = object.dict() == nullptr ? nullptr : object.dict()->find(name);
  return found == nullptr ? Value(Undefined{name}) : *found;
}

/// object[key].
inline Value item(const Value& object, const Value& key, std::size_t line) {
  if (key.text() != nullptr) return field(object, std::string(key.text()->bytes()), line);
  const auto index = key.integer();
  if (object.is_undefined() || !index) fail(line, "an element of ", object.type_name(), " at ", key.type_name());
  const std::int64_t size = object.list() != nullptr || object.text() != nullptr ? length(object, line) : 0;
  const std::int64_t at = *index < 0 ? *index + size : *index;
  if (at < 0 || at >= size) return Value(Undefined{"an element beyond the end"});
  if (object.list() != nullptr) return (*object.list())[static_cast<std::size_t>(at)];
  const auto bytes = characters_of(*object.text());
  return Value(object.text()->substr(bytes[static_cast<std::size_t>(at)],
                                     bytes[static_cast<std::size_t>(at) + 1] - bytes[static_cast<std::size_t>(at)]));
}

/// Throws when the value is none; `of` says what asks for it.
inline std::int64_t integer(const Value& value, std::string_view of, std::size_t line) {
  if (const auto number = value.integer()) return *number;
  fail(line, in_quotes(of), " of ", value.type_name(), ", expected an integer");
}
/// a + b, or a * b, of integers that cannot overflow.
inline std::int64_t checked(std::int64_t a, std::int64_t b, bool product, std::size_t line) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (a < -most || a > most || b < -most || b > most) fail(line, "the integers are too large");
  return product ? a * b : a + b;
}
inline std::int64_t difference(std::int64_t a, std::int64_t b, std::size_t line) {
  checked(a, b, false, line);
  return a - b;
}

/// The part of a list or a text between two bounds, none of which need be given; a step of -1 goes backwards.
inline Value slice(const Value& object, std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t step,
                   std::size_t line) {
  if (object.list() == nullptr && object.text() == nullptr) fail(line, "a slice of ", object.type_name());
  if (step != 1 && step != -1) fail(line, "slices with steps other than 1 and -1 are not known");
  const std::int64_t size = length(object, line);
  const auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  };
  const std::int64_t begin = from ? inside(*from) : step > 0 ? 0 : size - 1;
  const std::int64_t end = to ? inside(*to) : step > 0 ? size : -1;
  if (object.text() != nullptr && step > 0) {
    const auto bytes = characters_of(*object.text());
    const std::size_t first = bytes[static_cast<std::size_t>(begin)];
    return Value(object.text()->substr(first, begin < end ? bytes[static_cast<std::size_t>(end)] - first : 0));
  }
  const List all = elements(object, line);
  List kept;
  for (std::int64_t at = begin; step > 0 ? at < end : at > end; at += step) kept.push_back(all[static_cast<std::size_t>(at)]);
  if (object.list() != nullptr) return Value(std::move(kept));
  return join(Value(std::move(kept)), {.line = line, .of = "slice"});
}

/// a SYMBOL b, for all but the repetition of a text.
inline Value arithmetic(const Value& a, const std::string& symbol, const Value& b, std::size_t line) {
  if (symbol == "~") return Value(printed(a) + printed(b));
  if (symbol == "+" && a.text() != nullptr && b.text() != nullptr) return Value(*a.text() + *b.text());
  if (symbol == "+" && a.list() != nullptr && b.list() != nullptr) {
    check_elements(a.list()->size() + b.list()->size(), line);
    List all = *a.list();
    all.insert(all.end(), b.list()->begin(), b.list()->end());
    return Value(std::move(all));
  }
  if (!a.integer() || !b.integer()) fail(line, in_quotes(symbol), " of ", a.type_name(), " and ", b.type_name());
  const std::int64_t x = *a.integer(), y = *b.integer();
  if (symbol == "+") return Value(checked(x, y, false, line));
  if (symbol == "-") return Value(difference(x, y, line));
  if (symbol == "*") return Value(checked(x, y, true, line));
  if (symbol == "/") fail(line, "numbers other than integers are not known (hint: //)");
  checked(x, y, false, line);
  if (y == 0) fail(line, "a division by zero");
  const std::int64_t rest = x % y, floor = rest != 0 && (rest < 0) != (y < 0) ? 1 : 0;  // Python rounds down
  return Value(symbol == "%" ? rest + floor * y : x / y - floor);
}

/// a SYMBOL b, of a comparison.
inline bool holds(const Value& a, const std::string& symbol, const Value& b, std::size_t line) {
  if (symbol == "==") return a == b;
  if (symbol == "!=") return !(a == b);
  if (symbol == "in") return contains(b, a, line);
  if (symbol == "not in") return !contains(b, a, line);
  const int sign = order(a, b, line);
  if (symbol == "<") return sign < 0;
  if (symbol == "<=") return sign <= 0;
  return symbol == ">" ? sign > 0 : sign >= 0;
}

}  // namespace llm::detail::jinja
