// The options of programs that generate text: how the next token is chosen.
#pragma once

#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <llm/generate/options.hpp>
#include <llm/io/generation_config.hpp>

namespace examples {

/// Options on the command line, before what a model's makers advise.
class SamplingOptions {
 public:
  /// `g` must stay where it is. `tokens`: what --max-new-tokens counts.
  SamplingOptions(CLI::App& app, llm::GenerateOptions& g, const std::string& tokens) : g_(g) {
    tokens_ = add(app, "--max-new-tokens", &llm::GenerateOptions::max_new_tokens, tokens);
    add(app, "--temperature", &llm::GenerateOptions::temperature, "below 1 sharper, above 1 flatter; 0: always the most probable");
    add(app, "--top-k", &llm::GenerateOptions::top_k, "only the k most probable; 0: off");
    add(app, "--top-p", &llm::GenerateOptions::top_p, "only the most probable that sum to p; 1: off");
    add(app, "--min-p", &llm::GenerateOptions::min_p, "only those at least p times as probable as the first; 0: off");
    add(app, "--repetition-penalty", &llm::GenerateOptions::repetition_penalty, "above 1: fewer repetitions");
    app.add_option("--seed", g.seed, "same seed, same text");
    app.add_option("--stop", g.stop.strings, "ends the text before this string; may be given several times")->allow_extra_args(false);
  }

  /// Takes what a model's generation_config.json says, but for options that were given, and prints what that changed.
  void take_defaults(const std::string& model) {
    const auto config = llm::read_generation_config(model);
    if (!config) return;
    llm::GenerateOptions advised = g_;
    config->apply_to(advised);
    if (tokens_->count() == 0) g_.fit_context = advised.fit_context;
    std::string taken;
    for (const auto& take : take_) taken += take(advised);
    if (!taken.empty()) std::fprintf(stderr, "generation_config.json:%s\n", taken.c_str());
  }

 private:
  template <class T>
  const CLI::Option* add(CLI::App& app, const std::string& name, T llm::GenerateOptions::*field, const std::string& help) {
    const CLI::Option* option = app.add_option(name, g_.*field, help);
    take_.push_back([this, option, name, field](const llm::GenerateOptions& from) -> std::string {
      if (option->count() > 0 || from.*field == g_.*field) return {};
      g_.*field = from.*field;
      std::ostringstream text;
      text << ' ' << name << ' ' << g_.*field;
      return text.str();
    });
    return option;
  }

  llm::GenerateOptions& g_;
  const CLI::Option* tokens_ = nullptr;
  std::vector<std::function<std::string(const llm::GenerateOptions&)>> take_;  // each takes one option, and says so
};

}  // namespace examples
