// The options of programs that generate text: how the next token is chosen.
#pragma once

#include <CLI/CLI.hpp>

#include <llm/generate/options.hpp>

namespace examples {

inline void add_sampling_options(CLI::App& app, llm::GenerateOptions& g) {
  app.add_option("--temperature", g.temperature, "below 1 sharper, above 1 flatter; 0: always the most probable");
  app.add_option("--top-k", g.top_k, "only the k most probable; 0: off");
  app.add_option("--top-p", g.top_p, "only the most probable that sum to p; 1: off");
  app.add_option("--min-p", g.min_p, "only those at least p times as probable as the first; 0: off");
  app.add_option("--repetition-penalty", g.repetition_penalty, "above 1: fewer repetitions");
  app.add_option("--seed", g.seed, "same seed, same text");
  app.add_option("--stop", g.stop.strings, "ends the text before this string; may be given several times")->allow_extra_args(false);
}

}  // namespace examples
