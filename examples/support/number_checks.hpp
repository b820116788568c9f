// Checks of numbers on the command line, with a sentence for each: CLI11's own print the largest double there is.
#pragma once

#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

namespace examples {

namespace detail {

/// `holds` of a double says whether it is good; `expected` says so in words, `name` in the list of options.
template <class Holds>
CLI::Validator number_check(Holds holds, const std::string& expected, const std::string& name) {
  const auto complaint = [holds, expected](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && holds(value)) return {};
    return text + " is not " + expected;
  };
  return CLI::Validator(complaint, name, name);
}

}  // namespace detail

inline CLI::Validator above_zero() {
  return detail::number_check([](double value) { return value > 0; }, "a number above 0", "POSITIVE");
}

inline CLI::Validator zero_or_more() {
  return detail::number_check([](double value) { return value >= 0; }, "0 or more", "NONNEGATIVE");
}

}  // namespace examples
