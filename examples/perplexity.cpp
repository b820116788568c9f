// How well a published model predicts a text: nats per token and perplexity, in windows as Hugging Face or llama.cpp take them.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "support/model_programs.hpp"
#include "support/number_checks.hpp"

int main(int argc, char** argv) {
  examples::PerplexityJob o;
  CLI::App app("Measures how well a published model predicts a text.");
  app.add_option("model", o.model, "a Hugging Face folder, or a .gguf, .safetensors or llama2.c .bin file")->required();
  app.add_option("--tokenizer", o.tokenizer, "a file or a folder with the tokenizer, where the model comes without one");
  app.add_option("text", o.text, "the text file")->required();
  app.add_option("--context", o.context, "tokens of a window; 0: 512, or as many as the model takes")->check(examples::zero_or_more());
  auto* const stride =
      app.add_option("--stride", o.stride, "from one window to the next; 0: half the context")->check(examples::zero_or_more());
  app.add_flag("--separate", o.separate, "windows one behind the other whose second half counts, as llama.cpp takes them")
      ->excludes(stride);
  app.add_flag("--special", o.special, "special tokens that the text spells are tokens; without it letters like any other");
  app.add_option("--tokens", o.most, "of the text, at most so many; 0: all")->check(examples::zero_or_more());
  app.add_option("--threads", o.threads, "0: all cores")->check(examples::zero_or_more());
  CLI11_PARSE(app, argc, argv);
  try {
    examples::run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perplexity: %s\n", error.what());
    return 1;
  }
}
