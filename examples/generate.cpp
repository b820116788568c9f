// Continues a prompt with a published model, or one that `train` saved: streams the text, then prints how fast prompt and text were
// computed.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <llm/io.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>
#include <llm/train/checkpoint.hpp>

#if !defined(LLM_EXAMPLE_MODEL)
#include "support/models.hpp"
#endif
#include "support/progress.hpp"
#include "support/published_models.hpp"
#include "support/sampling_options.hpp"
#include "support/terminal.hpp"

namespace {

struct Options {
  std::string model, prompt;
  llm::GenerateOptions generate;
  int threads = 0;
};

void print_rate(const char* phase, std::size_t tokens, double seconds) {
  if (tokens == 0) return;
  std::fprintf(stderr, "%-8s %6zu tokens %9.3f s %9.1f tokens/s\n", phase, tokens, seconds, static_cast<double>(tokens) / seconds);
}

template <const llm::Config& C>
void generate(const Options& o, const llm::Tokenizer& tokenizer) {
  const auto model = llm::load<C>(o.model);
  auto stream = llm::generate(model, tokenizer, o.prompt, o.generate);
  examples::show(o.prompt);
  examples::Stopwatch watch;
  stream.prefill();
  const double prefill = watch.seconds();
  watch.restart();
  for (const auto piece : stream) examples::show(piece);
  const double decode = watch.seconds();
  std::printf("\n");
  std::fflush(stdout);
  if (o.generate.max_new_tokens == 0) return;
  const std::size_t prompt = stream.tokens().prompt_size(), drawn = stream.tokens().sequence().size() - prompt;
  print_rate("prefill", prompt, prefill);
  print_rate("decode", drawn > 0 ? drawn - 1 : 0, decode);  // prefill has drawn the first
}

/// A model that train saved; its tokenizer stands in the checkpoint.
void run_trained([[maybe_unused]] const Options& o) {
#if defined(LLM_EXAMPLE_MODEL)
  throw llm::ValueError(o.model + ": is a checkpoint of train, which the program generate of the library's own build continues");
#else
  const auto info = llm::read_checkpoint_info(o.model);
  const llm::Tokenizer tokenizer = llm::CharTokenizer::from_characters(info.notes.tokenizer);
  examples::with_model(info.config, [&]<const llm::Config & C>(std::string_view) { generate<C>(o, tokenizer); });
#endif
}

void run_published(const Options& o) {
  examples::with_published_model(o.model, "generate",
                                 [&]<const llm::Config & C>(std::string_view) { generate<C>(o, llm::Tokenizer::from_file(o.model)); });
}

void run(const Options& o) {
  llm::set_num_threads(o.threads);
  std::filesystem::exists(llm::checkpoint_path(o.model)) ? run_trained(o) : run_published(o);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  llm::GenerateOptions& g = o.generate;
  CLI::App app("Continues a text with a published model, or one that train saved.");
  app.option_defaults()->always_capture_default();
  app.add_option("model", o.model, "a Hugging Face folder, a .gguf or .safetensors file, or the folder that train wrote")->required();
  app.add_option("--prompt", o.prompt, "the text to continue")->required();
  app.add_option("--max-new-tokens", g.max_new_tokens,
                 "tokens to add, of trained models characters; -1: as many as fit the model's context");
  examples::add_sampling_options(app, g);
  app.add_option("--threads", o.threads, "0: all cores")->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 1;
  }
}
