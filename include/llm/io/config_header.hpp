// Writes a Config as C++: a header that defines it and holds the compiler to its figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/published_config.hpp>
#include <llm/model/account_bytes.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/config_fields.hpp>
#include <llm/model/rules.hpp>

namespace llm {

namespace detail::config_header {

inline constexpr std::string_view keywords[] = {
    "alignas",   "alignof",  "and",      "and_eq",       "asm",       "auto",       "bitand",        "bitor",       "bool",
    "break",     "case",     "catch",    "char",         "char16_t",  "char32_t",   "char8_t",       "class",       "co_await",
    "co_return", "co_yield", "compl",    "concept",      "const",     "const_cast", "consteval",     "constexpr",   "constinit",
    "continue",  "decltype", "default",  "delete",       "do",        "double",     "dynamic_cast",  "else",        "enum",
    "explicit",  "export",   "extern",   "false",        "float",     "for",        "friend",        "goto",        "if",
    "inline",    "int",      "long",     "mutable",      "namespace", "new",        "noexcept",      "not",         "not_eq",
    "nullptr",   "operator", "or",       "or_eq",        "private",   "protected",  "public",        "register",    "reinterpret_cast",
    "requires",  "return",   "short",    "signed",       "sizeof",    "static",     "static_assert", "static_cast", "struct",
    "switch",    "template", "this",     "thread_local", "throw",     "true",       "try",           "typedef",     "typeid",
    "typename",  "union",    "unsigned", "using",        "virtual",   "void",       "volatile",      "wchar_t",     "while",
    "xor",       "xor_eq",   "llm",      "std",          "main"};

/// A name that any C++ file can use in its global namespace: ASCII, not reserved, no keyword, none of the library's or the standard's.
inline void require_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool good = !name.empty() && name.size() <= 255 && letter(name.front()) && name.front() != '_' &&
              name.find("__") == std::string_view::npos && std::find(std::begin(keywords), std::end(keywords), name) == std::end(keywords);
  for (const char c : name) good = good && (letter(c) || (c >= '0' && c <= '9'));
  if (!good)
    throw ValueError(concat("llm::config_header: ", in_quotes(name),
                            " cannot name a config: expected a C++ identifier that begins with a letter, has no '__' and is no keyword"));
}

/// A value as a C++ expression that is exactly it.
template <class V>
std::string literal(const char* field, const V& value) {
  if constexpr (std::is_enum_v<V>) {
    constexpr std::string_view type = std::same_as<V, Norm>              ? "Norm"
                                      : std::same_as<V, Rounding>        ? "Rounding"
                                      : std::same_as<V, NormPosition>    ? "NormPosition"
                                      : std::same_as<V, Position>        ? "Position"
                                      : std::same_as<V, Mlp>             ? "Mlp"
                                      : std::same_as<V, RopeScalingKind> ? "RopeScalingKind"
                                      : std::same_as<V, RouterScore>     ? "RouterScore"
                                                                         : "";
    static_assert(!type.empty(), "llm::config_header: the name of this enum is missing here");
    return concat("llm::", type, "::", enum_name(value));
  } else if constexpr (std::same_as<V, double>) {
    if (!std::isfinite(value)) throw ConfigError(concat("llm::config_header: ", field, " is not finite"));
    if (std::abs(value) < 1e15 && value == std::floor(value)) return concat(static_cast<std::int64_t>(value), ".0");
    const std::string text = concat(value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  } else if constexpr (std::same_as<V, bool>) {
    return value ? "true" : "false";
  } else {
    return std::to_string(value);
  }
}

/// ".vocab_size = 32000, .rope_scaling = {.kind = ..., }": the fields that differ from the default, in the order of their declaration.
class Initialisers {
 public:
  explicit Initialisers(const Config& config) {
    for_each_difference(config, Config{}, [&](const char* field, const auto& value, const auto&) { add(field, literal(field, value)); });
    close_part();
  }
  const std::string& text() const { return text_; }

 private:
  void add(std::string_view field, const std::string& value) {
    const std::size_t dot = field.find('.');
    const std::string_view part = dot == std::string_view::npos ? std::string_view() : field.substr(0, dot);
    if (part != part_) {
      close_part();
      if (!part.empty()) text_ += concat("    .", part, " = {");
      part_ = part;
      first_ = true;
    }
    if (part.empty())
      text_ += concat("    .", field, " = ", value, ",\n");
    else
      text_ += concat(first_ ? "" : ", ", ".", field.substr(dot + 1), " = ", value);
    first_ = false;
  }
  void close_part() {
    if (!part_.empty()) text_ += "},\n";
    part_ = {};
  }

  std::string text_;
  std::string_view part_;
  bool first_ = true;
};

}  // namespace detail::config_header

/// The text of a header that defines `inline constexpr llm::Config <name>` equal to the model's config, with static_asserts on the count of
/// parameters and the bytes that a token adds to a bf16 KV cache. `source` of the model stands in its first line.
/// Throws ValueError when the name is no C++ identifier that may be used, ConfigError when the config is not valid.
inline std::string config_header(const PublishedConfig& model, std::string_view name) {
  namespace header = detail::config_header;
  header::require_identifier(name);
  require_valid(model.config, model.source);
  const std::string parameters = detail::grouped(parameter_count(model.config).total, '\'');
  const std::string bytes = detail::grouped(kv_cache_bytes_per_token(model.config, DType::bf16), '\'');
  return detail::concat("// The config of ", detail::in_quotes(model.source), ", written by a program.\n",
                        "#pragma once\n\n#include <llm/model/account.hpp>\n#include <llm/model/config.hpp>\n\n",
                        "inline constexpr llm::Config ", name, "{\n", header::Initialisers(model.config).text(), "};\n",
                        "static_assert(llm::parameter_count(", name, ").total == ", parameters, ");\n",
                        "static_assert(llm::kv_cache_bytes_per_token(", name, ", llm::DType::bf16) == ", bytes, ");\n");
}

}  // namespace llm
