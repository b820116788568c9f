// What a valid Config is: tables of rules, whose sentences the compiler prints and validate() returns.
#pragma once

#include <string>
#include <string_view>
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
  return all_hold(c, Sizes{}) && all_hold(c, Positions{}) && all_hold(c, Attention{}) && all_hold(c, MixtureOfExperts{});
}

template <const Config& C>
using AllReports = Reports<C, Sizes, Positions, Attention, MixtureOfExperts, Buildable>;

}  // namespace config_rules

/// Whether a compiled-in config is valid; asking gives no error.
template <const Config& C>
concept valid_config = config_rules::is_valid(C);

/// Whether LLM can be made of a config: it is valid, and has nothing that the accountant counts and LLM does not build yet.
constexpr bool buildable(const Config& c) { return config_rules::is_valid(c) && config_rules::all_hold(c, config_rules::Buildable{}); }
template <const Config& C>
concept buildable_config = buildable(C);

/// A base class that reports: one compile error for each broken rule, with its sentence and numbers; empty for a buildable config.
/// A template over a config derives from it where the config is wrong, and so adds no errors of its own:
///
///     template <const Config& C>
///     class Model { ... };
///     template <const Config& C>
///     requires(!buildable_config<C>) class Model<C> : BrokenRules<C> {};
///
/// The report is apart from the question since clang takes a constraint whose check failed for unsatisfied, negated or not.
template <const Config& C>
struct BrokenRules : config_rules::AllReports<C> {};

/// What is wrong with a config: for each broken rule its sentence and the two numbers; empty when it is valid.
inline std::vector<std::string> validate(const Config& c) {
  std::vector<std::string> texts;
  config_rules::broken_rules(c, config_rules::Sizes{}, texts);
  config_rules::broken_rules(c, config_rules::Positions{}, texts);
  config_rules::broken_rules(c, config_rules::Attention{}, texts);
  config_rules::broken_rules(c, config_rules::MixtureOfExperts{}, texts);
  return texts;
}

/// What LLM cannot build of a valid config: a sentence for each feature; empty when it builds all.
inline std::vector<std::string> unbuilt_features(const Config& c) {
  std::vector<std::string> texts;
  config_rules::broken_rules(c, config_rules::Buildable{}, texts);
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
