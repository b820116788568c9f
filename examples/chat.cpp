// Talks with a published model: a Hugging Face folder or a file, with its own tokenizer and chat template.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "support/model_programs.hpp"
#include "support/number_checks.hpp"
#include "support/sampling_options.hpp"

int main(int argc, char** argv) {
  examples::ChatJob o;
  llm::GenerateOptions& g = o.options;
  CLI::App app("Talks with a model: every line is a turn. /reset begins anew, /exit ends, Ctrl-C stops an answer.");
  app.option_defaults()->always_capture_default();
  app.add_option("model", o.model, "a Hugging Face folder, or a .gguf, .safetensors or llama2.c .bin file")->required();
  app.add_option("--tokenizer", o.tokenizer, "a file or a folder with the tokenizer, where the model comes without one");
  app.add_option("--template", o.chat_template, "another chat template than the model's: a name such as chatml, or a .jinja file");
  app.add_option("--set", o.variables, "NAME=VALUE for the template, such as enable_thinking=false")->allow_extra_args(false);
  app.add_option("--system", o.system, "what the model is told first");
  app.add_option("--context", o.context, "tokens that the conversation may have; it takes memory")->check(examples::above_zero());
  examples::SamplingOptions sampling(app, g, "of an answer; -1: as many as fit the context");
  app.add_flag("--show-special", g.show_special, "shows special tokens as they are spelled");
  app.add_flag("--timings", o.timings, "prints how fast prompt and answer were computed, and what was kept from before");
  app.add_option("--threads", o.threads, "0: all cores")->check(examples::zero_or_more());
  CLI11_PARSE(app, argc, argv);
  try {
    sampling.take_defaults(o.model);
    return examples::run(o) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chat: %s\n", error.what());
    return 1;
  }
}
