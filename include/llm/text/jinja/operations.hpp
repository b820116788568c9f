// What operators do with values: sums and comparisons, as in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/tests.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// Throws when the value is none; `of` says what asks for it.
inline std::int64_t integer(const Value& value, std::string_view of, const Site& at) {
  if (const auto number = value.integer()) return *number;
  fail(at.line, in_quotes(of), " of ", value.type_name(), ", expected an integer");
}
/// a + b, or a * b, of integers that cannot overflow.
inline std::int64_t checked(std::int64_t a, std::int64_t b, bool product, const Site& at) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (a < -most || a > most || b < -most || b > most) fail(at.line, "the integers are too large");
  return product ? a * b : a + b;
}
inline std::int64_t difference(std::int64_t a, std::int64_t b, const Site& at) {
  checked(a, b, false, at);
  return a - b;
}

inline Value repeated(const MarkedText& text, std::int64_t times, const Site& at) {
  MarkedText out;
  for (std::int64_t i = 0; i < times; ++i) {
    at.spend(1 + text.weight());
    out += text;
  }
  return Value(std::move(out));
}
inline Value concatenated(const List& a, const List& b, const Site& at) {
  check_elements(a.size() + b.size(), at);
  List all = a;
  all.insert(all.end(), b.begin(), b.end());
  return Value(std::move(all));
}
inline Value divided(std::int64_t x, std::int64_t y, bool rest_of_it, const Site& at) {
  checked(x, y, false, at);
  if (y == 0) fail(at.line, "a division by zero");
  const std::int64_t rest = x % y, floor = rest != 0 && (rest < 0) != (y < 0) ? 1 : 0;  // Python rounds down
  return Value(rest_of_it ? rest + floor * y : x / y - floor);
}

/// a SYMBOL b.
inline Value arithmetic(const Value& a, std::string_view symbol, const Value& b, const Site& at) {
  if (symbol == "~") return Value(printed(a) + printed(b));
  if (symbol == "+" && a.text() != nullptr && b.text() != nullptr) return Value(*a.text() + *b.text());
  if (symbol == "+" && a.list() != nullptr && b.list() != nullptr) return concatenated(*a.list(), *b.list(), at);
  if (symbol == "*" && a.text() != nullptr && b.integer()) return repeated(*a.text(), *b.integer(), at);
  if (!a.integer() || !b.integer()) fail(at.line, in_quotes(symbol), " of ", a.type_name(), " and ", b.type_name());
  const std::int64_t x = *a.integer(), y = *b.integer();
  if (symbol == "+") return Value(checked(x, y, false, at));
  if (symbol == "-") return Value(difference(x, y, at));
  if (symbol == "*") return Value(checked(x, y, true, at));
  if (symbol == "/") fail(at.line, "numbers other than integers are not known (hint: //)");
  return divided(x, y, symbol == "%", at);
}

/// a SYMBOL b, of a comparison.
inline bool holds(const Value& a, std::string_view symbol, const Value& b, const Site& at) {
  if (symbol == "==") return equal(a, b, at);
  if (symbol == "!=") return !equal(a, b, at);
  if (symbol == "in") return contains(b, a, at);
  if (symbol == "not in") return !contains(b, a, at);
  const int sign = order(a, b, at);
  if (symbol == "<") return sign < 0;
  if (symbol == "<=") return sign <= 0;
  return symbol == ">" ? sign > 0 : sign >= 0;
}

}  // namespace llm::detail::jinja
