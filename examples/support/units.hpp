// Sizes of memory as people write and read them.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace examples {

/// "24GB", "24GiB", "800 MB", "1.5e9B" -> bytes. GB is 10^9 and GiB 2^30 bytes; a number without a unit, a negative one, less than a byte
/// and more than 2^62 are none.
inline std::optional<std::int64_t> parse_bytes(std::string_view text) {
  static constexpr std::pair<std::string_view, double> units[] = {{"B", 1.0},         {"KB", 1e3},           {"MB", 1e6},
                                                                  {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                                                                  {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, bytes] : units)
    if (name == unit && number * bytes >= 1.0 && number * bytes <= 4.6e18) return static_cast<std::int64_t>(number * bytes);
  return std::nullopt;
}

/// 502193664 -> "502.19 MB", in powers of 1000; below 1000 whole bytes.
inline std::string bytes_text(std::int64_t bytes) {
  static constexpr const char* units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1e3;
  std::size_t unit = 0;
  for (; value >= 999.995 && unit < 5; ++unit) value /= 1e3;
  char text[40];
  std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
  return text;
}

}  // namespace examples
