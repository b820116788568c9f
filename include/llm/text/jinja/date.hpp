// Dates as a template asks for them: strftime_now("%d %b %Y"), in UTC and in English, whatever the machine is set to.
// Source of the calendar: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <llm/text/jinja/lexer.hpp>

namespace llm::detail::jinja {

struct Date {
  std::int64_t year, month, day, weekday, hour, minute, second;  // month and day from 1, weekday from Sunday = 0
};

/// Of the seconds since 1970.
constexpr Date date_of(std::int64_t seconds) {
  const auto floor_divide = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  const std::int64_t days = floor_divide(seconds, 86400), rest = seconds - 86400 * days;
  const std::int64_t shifted = days + 719468, era = floor_divide(shifted, 146097), day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t march = (5 * day_of_year + 2) / 153, month = march < 10 ? march + 3 : march - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          month,
          day_of_year - (153 * march + 2) / 5 + 1,
          days + 4 - 7 * floor_divide(days + 4, 7),
          rest / 3600,
          rest / 60 % 60,
          rest % 60};
}

/// Throws ValueError for a letter that is not known.
inline std::string format_date(std::string_view format, std::int64_t seconds, std::size_t line) {
  constexpr std::array<std::string_view, 12> months{"January", "February", "March",     "April",   "May",      "June",
                                                    "July",    "August",   "September", "October", "November", "December"};
  constexpr std::array<std::string_view, 7> weekdays{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
  if (seconds < -62135596800 || seconds > 253402300799) fail(line, "strftime_now: the year is not in 1 .. 9999");
  const Date date = date_of(seconds);
  const std::string_view month = months[static_cast<std::size_t>(date.month - 1)],
                         weekday = weekdays[static_cast<std::size_t>(date.weekday)];
  const auto digits = [](std::int64_t number, std::size_t width) {
    std::string text = std::to_string(number);
    return std::string(text.size() < width ? width - text.size() : 0, '0') + text;
  };
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    const bool bare = i + 1 < format.size() && format[i + 1] == '-';  // without zeros in front
    i += bare ? 2 : 1;
    const std::size_t width = bare ? 1 : 2;
    switch (i < format.size() ? format[i] : '\0') {
      case 'd':
        out += digits(date.day, width);
        break;
      case 'm':
        out += digits(date.month, width);
        break;
      case 'Y':
        out += digits(date.year, bare ? 1 : 4);
        break;
      case 'y':
        out += digits(date.year % 100, width);
        break;
      case 'H':
        out += digits(date.hour, width);
        break;
      case 'M':
        out += digits(date.minute, width);
        break;
      case 'S':
        out += digits(date.second, width);
        break;
      case 'B':
        out += month;
        break;
      case 'b':
        out += month.substr(0, 3);
        break;
      case 'A':
        out += weekday;
        break;
      case 'a':
        out += weekday.substr(0, 3);
        break;
      case '%':
        out += '%';
        break;
      default:
        fail(line, "strftime_now: ", in_quotes(format), " has a letter that is not known");
    }
  }
  return out;
}

}  // namespace llm::detail::jinja
