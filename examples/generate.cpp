// Continues a prompt with a published model, or one that `train` saved: streams the text, then prints how fast prompt and text were
// computed.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "support/model_programs.hpp"
#include "support/number_checks.hpp"
#include "support/sampling_options.hpp"

int main(int argc, char** argv) {
  examples::GenerateJob o;
  CLI::App app("Continues a text with a published model, or one that train saved.");
  app.option_defaults()->always_capture_default();
  app.add_option("model", o.model, "a Hugging Face folder, a .gguf, .safetensors or llama2.c .bin file, or the folder that train wrote")
      ->required();
  app.add_option("--tokenizer", o.tokenizer, "a file or a folder with the tokenizer, where the model comes without one");
  app.add_option("--prompt", o.prompt, "the text to continue")->required();
  examples::SamplingOptions sampling(app, o.options, "tokens to add, of trained models characters; -1: as many as fit the model's context");
  app.add_option("--threads", o.threads, "0: all cores")->check(examples::zero_or_more());
  CLI11_PARSE(app, argc, argv);
  try {
    sampling.take_defaults(o.model);
    examples::run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 1;
  }
}
