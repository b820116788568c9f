// How well a published model predicts a text: nats per token and perplexity, in windows as Hugging Face or llama.cpp take them.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <llm/generate/perplexity.hpp>
#include <llm/io.hpp>
#include <llm/io/load.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>

#include "support/progress.hpp"
#include "support/published_models.hpp"
#include "support/terminal.hpp"

namespace {

struct Options {
  std::string model, text;
  std::int64_t context = 512, stride = 0, most = 0;
  bool separate = false;
  int threads = 0;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file && !file.eof()) throw llm::FileError(path + ": cannot be read");
  if (text.empty()) throw llm::FileError(path + ": is not there or empty");
  return text;
}

/// Separate windows begin with the model's BOS, if it expects one.
llm::PerplexityOptions windows_of(const Options& o, const llm::Tokenizer& tokenizer, const std::vector<llm::Token>& ids) {
  if (!o.separate) return {.context = o.context, .stride = o.stride == 0 ? (o.context + 1) / 2 : o.stride};
  const auto bos = tokenizer.bos_id();
  const bool expects = bos && !ids.empty() && ids.front() == *bos;
  return llm::PerplexityOptions::separate(o.context, expects ? bos : std::nullopt);
}

template <const llm::Config& C>
void measure(const Options& o, std::string_view name) {
  const auto tokenizer = llm::Tokenizer::from_file(o.model);
  // Hugging Face takes special tokens that the text spells, llama-perplexity takes their letters.
  std::vector<llm::Token> ids = tokenizer.encode(read_text(o.text), {.parse_special = !o.separate});
  if (o.most > 0 && static_cast<std::int64_t>(ids.size()) > o.most) ids.resize(static_cast<std::size_t>(o.most));
  const auto model = llm::load<C>(o.model);
  std::printf("%s, %zu tokens\n", std::string(name).c_str(), ids.size());
  const bool terminal = examples::is_terminal(stdout);
  const examples::Stopwatch clock;
  const auto result = llm::perplexity(model, ids, windows_of(o, tokenizer, ids), [&](const llm::Perplexity& so_far) {
    if (!terminal) return;
    std::printf("\r\033[K%lld windows, perplexity %.4f", static_cast<long long>(so_far.windows), so_far.perplexity());
    std::fflush(stdout);
  });
  const double seconds = clock.seconds();
  std::printf("%sperplexity %.4f, %.5f nats a token, of %lld tokens in %lld windows\n", terminal ? "\r\033[K" : "", result.perplexity(),
              result.mean(), static_cast<long long>(result.tokens), static_cast<long long>(result.windows));
  std::fprintf(stderr, "%.1f s, %.1f tokens/s\n", seconds, static_cast<double>(ids.size()) / seconds);
}

void run(const Options& o) {
  llm::set_num_threads(o.threads);
  examples::with_published_model(o.model, "perplexity", [&]<const llm::Config & C>(std::string_view name) { measure<C>(o, name); });
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Measures how well a published model predicts a text.");
  app.add_option("model", o.model, "a .gguf file or a Hugging Face folder")->required();
  app.add_option("text", o.text, "the text file")->required();
  app.add_option("--context", o.context, "tokens of a window");
  app.add_option("--stride", o.stride, "from one window to the next; half the context without it");
  app.add_flag("--separate", o.separate, "windows one behind the other whose second half counts, as llama.cpp takes them");
  app.add_option("--tokens", o.most, "of the text, at most so many");
  app.add_option("--threads", o.threads, "0: all cores")->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perplexity: %s\n", error.what());
    return 1;
  }
}
