// What a valid Config is: tables of rules, whose sentences the compiler prints and validate() returns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rule.hpp>
#include <llm/model/rules_attention.hpp>
#include <llm/model/rules_buildable.hpp>
#include <llm/model/rules_experts.hpp>
#include <llm/model/rules_position.hpp>
#include <llm/model/rules_sizes.hpp>

#undef LLM_CONFIG_RULE

namespace llm {

namespace config_rules {

constexpr bool is_valid(const Config& c) {
  return Sizes::all_hold(c) && Positions::all_hold(c) && Attention::all_hold(c) && MixtureOfExperts::all_hold(c);
}

}  // namespace config_rules

/// Whether the compiler knows a config's fields: those of a variable that is not constexpr it does not.
template <const Config& C>
concept constant_config = requires {
  typename std::integral_constant<std::int64_t, C.vocab_size>;
};

/// Whether a compiled-in config is valid; asking gives no error.
template <const Config& C>
concept valid_config = constant_config<C> && config_rules::is_valid(C);

/// Whether LLM can be made of a config: it is valid, and has nothing that the accountant counts and LLM does not build yet.
constexpr bool buildable(const Config& c) { return config_rules::is_valid(c) && config_rules::Buildable::all_hold(c); }
template <const Config& C>
concept buildable_config = constant_config<C> && buildable(C);

/// A base class that reports: one compile error for each broken rule, with its sentence and numbers; empty for a valid config.
/// A template over a config derives from it where the config is wrong, and so adds no errors of its own:
///
///     template <const Config& C>
///     class Arithmetic { ... };
///     template <const Config& C>
///     requires(!valid_config<C>) class Arithmetic<C> : BrokenRules<C> {};
///
/// The report is apart from the question since clang takes a constraint whose check failed for unsatisfied, negated or not.
template <const Config& C>
struct BrokenRules : config_rules::Reports<C, config_rules::Sizes>,
                     config_rules::Reports<C, config_rules::Positions>,
                     config_rules::Reports<C, config_rules::Attention>,
                     config_rules::Reports<C, config_rules::MixtureOfExperts> {};
template <const Config& C>
requires(!constant_config<C>) struct BrokenRules<C> {
  static_assert(constant_config<C>,
                "llm::Config: the config of a type must be known to the compiler (hint: inline constexpr llm::Config config{...})");
};

/// The same for what LLM cannot build of a valid config.
template <const Config& C>
struct UnbuiltFeatures : config_rules::Reports<C, config_rules::Buildable> {};

/// Why LLM cannot be made of a config: its broken rules, or else what is not built. An alias, since each class is a line of the report.
template <const Config& C>
using WhyNotBuildable = std::conditional_t<valid_config<C>, UnbuiltFeatures<C>, BrokenRules<C>>;

/// What is wrong with a config: for each broken rule its sentence and the two numbers; empty when it is valid.
inline std::vector<std::string> validate(const Config& c) {
  std::vector<std::string> texts;
  config_rules::Sizes::add_broken(c, texts);
  config_rules::Positions::add_broken(c, texts);
  config_rules::Attention::add_broken(c, texts);
  config_rules::MixtureOfExperts::add_broken(c, texts);
  return texts;
}

/// What LLM cannot build of a valid config: a sentence for each feature; empty when it builds all.
inline std::vector<std::string> unbuilt_features(const Config& c) {
  std::vector<std::string> texts;
  config_rules::Buildable::add_broken(c, texts);
  return texts;
}

/// Throws ConfigError with every broken rule of a config, one a line; `source` names where it comes from, a file for instance.
inline void require_valid(const Config& config, std::string_view source = {}) {
  const std::vector<std::string> broken = validate(config);
  if (broken.empty()) return;
  std::string text(source);
  const char* separator = source.empty() ? "" : ": ";
  for (const std::string& sentence : broken) {
    text += separator;
    text += sentence;
    separator = "\n";
  }
  throw ConfigError(text);
}

}  // namespace llm
