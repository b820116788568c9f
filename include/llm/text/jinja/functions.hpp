// The functions that every template can call: range, namespace, raise_exception, strftime_now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/text/jinja/arguments.hpp>
#include <llm/text/jinja/date.hpp>
#include <llm/text/jinja/operations.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

inline Dict with_functions(Dict variables) {
  for (const std::string_view name : {"range", "namespace", "raise_exception", "strftime_now"}) variables.set(name, Value(Function{name}));
  return variables;
}

inline Value make_range(const Arguments& given) {
  given.expect(1, 3);
  const Site& at = given.at;
  std::int64_t bounds[3]{0, 0, 1};
  for (std::size_t i = 0; i < given.values.size(); ++i) bounds[i] = integer(given.values[i], "range", at);
  if (given.values.size() == 1) std::swap(bounds[0], bounds[1]);
  const auto [begin, end, step] = bounds;
  checked(begin, end, false, at);
  checked(step, 0, false, at);
  if (step == 0) fail(at.line, "'range' with a step of 0");
  List all;
  for (std::int64_t number = begin; step > 0 ? number < end : number > end; number += step) {
    check_elements(all.size() + 1, at);
    all.emplace_back(number);
  }
  return Value(std::move(all));
}

inline Value make_namespace(const Arguments& given) {
  if (!given.values.empty()) fail(given.at.line, "'namespace' has arguments without a name");
  auto fields = std::make_shared<Dict>();
  for (const auto& [key, value] : given.named) {
    value.check_can_be_inside();
    fields->set(key, value, given.at);
  }
  return Value(Namespace{std::move(fields)});
}

/// `unix_time`: what strftime_now() takes for now, in seconds since 1970.
inline Value call_function(std::string_view name, const Arguments& given, std::int64_t unix_time) {
  if (name == "range") return make_range(given);
  if (name == "namespace") return make_namespace(given);
  given.expect(1, 1);
  if (name == "raise_exception")
    throw ValueError(concat("llm::ChatTemplate: the template refuses these messages: ", printed(given.values[0]).bytes()));
  given.at.spend(16 * given.text(0).size());
  return Value(format_date(given.text(0).bytes(), unix_time, given.at.line));
}

}  // namespace llm::detail::jinja
