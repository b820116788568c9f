// The command line of the training program, and its part in a checkpoint: a resumed run is the same run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <llm/core/error.hpp>
#include <llm/train/checkpoint.hpp>

#include "number_checks.hpp"

namespace examples {

struct TrainOptions {
  std::string data, config = "modern_small", dtype = "f32", out = "run";
  std::int64_t steps = 300, batch = 16, length = 64, warmup = 100, every = 50;
  std::uint64_t seed = 1;
  double max_lr = 3e-4;
  int threads = 0;
  bool resume = false, overwrite = false, steps_given = false;
};

/// Sets `options` from the command line; throws CLI::ParseError, also for --help.
inline void parse(CLI::App& app, TrainOptions& options, int argc, char** argv) {
  app.option_defaults()->always_capture_default();
  const std::vector<CLI::Option*> of_a_new_run{
      app.add_option("--data", options.data, "UTF-8 text file (default: the library's own headers and documentation)"),
      app.add_option("--config", options.config, "modern_small, llama_small or gpt2_small"),
      app.add_option("--dtype", options.dtype, "of weights and activations: f32, or bf16 with master weights and gradients in f32")
          ->check(CLI::IsMember({"f32", "bf16"})),
      app.add_option("--seed", options.seed, "of weights, batches and sample"),
      app.add_option("--batch", options.batch, "windows in a step")->check(above_zero()),
      app.add_option("--length", options.length, "characters in a window")->check(CLI::Range(1, 64)),
      app.add_option("--max-lr", options.max_lr, "learning rate after the warm-up; it falls to a tenth")->check(above_zero()),
      app.add_option("--warmup", options.warmup, "steps until then")->check(zero_or_more())};
  const auto* const steps = app.add_option("--steps", options.steps, "optimizer steps in all")->check(above_zero());
  app.add_option("--every", options.every, "steps between printed lines and checkpoints")->check(above_zero());
  app.add_option("--out", options.out, "folder for the checkpoint, metrics.csv and loss.svg");
  app.add_option("--threads", options.threads, "0: all cores")->check(zero_or_more());
  auto* const resume = app.add_flag("--resume", options.resume, "go on with the run in --out; a larger --steps makes it longer");
  resume->excludes(app.add_flag("--overwrite", options.overwrite, "replace the run in --out"));
  for (auto* const option : of_a_new_run) resume->excludes(option);
  app.parse(argc, argv);
  options.steps_given = steps->count() > 0;
  if (!options.data.empty()) options.data = std::filesystem::absolute(options.data).string();
}

/// What a checkpoint keeps of the options; `text` is the fingerprint of the training text.
inline llm::CheckpointNotes notes_of(const TrainOptions& o, const std::string& tokenizer, const std::string& text) {
  const auto number = [](auto value) { return llm::detail::concat(value); };
  return {tokenizer,
          {{"config", o.config},
           {"dtype", o.dtype},
           {"data", o.data},
           {"text", text},
           {"steps", number(o.steps)},
           {"batch", number(o.batch)},
           {"length", number(o.length)},
           {"warmup", number(o.warmup)},
           {"max_lr", number(o.max_lr)},
           {"seed", number(o.seed)}}};
}

/// Takes the options of the run that a checkpoint belongs to; --steps may make it longer.
inline void take_options(TrainOptions& o, const llm::CheckpointNotes& notes) {
  const auto word = [&](const char* name) {
    const auto found = notes.words.find(name);
    if (found == notes.words.end()) throw llm::FileError(o.out + ": the checkpoint was not saved by this program: it does not say " + name);
    return found->second;
  };
  o.config = word("config");
  if (notes.words.contains("dtype")) o.dtype = word("dtype");  // else it was saved before there was a choice
  o.data = word("data");
  if (!o.steps_given) o.steps = std::stoll(word("steps"));
  o.batch = std::stoll(word("batch"));
  o.length = std::stoll(word("length"));
  o.warmup = std::stoll(word("warmup"));
  o.max_lr = std::stod(word("max_lr"));
  o.seed = std::stoull(word("seed"));
}

}  // namespace examples
