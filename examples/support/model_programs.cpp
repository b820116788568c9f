#include "model_programs.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llm/chat.hpp>
#include <llm/data/text_file.hpp>
#include <llm/generate/perplexity.hpp>
#include <llm/io.hpp>
#include <llm/io/load.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>
#include <llm/train/checkpoint.hpp>

#include "chat_loop.hpp"
#if !defined(LLM_EXAMPLE_MODEL)
#include "models.hpp"
#endif
#include "progress.hpp"
#include "published_models.hpp"
#include "terminal.hpp"

namespace examples {

namespace {

void print_rate(const char* phase, std::size_t tokens, double seconds) {
  if (tokens == 0) return;
  std::fprintf(stderr, "%-8s %6zu tokens %9.3f s %9.1f tokens/s\n", phase, tokens, seconds, static_cast<double>(tokens) / seconds);
}

/// What a program's tokenizer is read from: what was named, or the model. Throws FileError when the model comes without one.
template <class Job>
const std::string& tokenizer_source(const Job& o) {
  if (!o.tokenizer.empty()) return o.tokenizer;
  if (!llm::find_tokenizer(o.model))
    throw llm::FileError(llm::why_no_tokenizer(o.model) + " (hint: --tokenizer names a file or a folder that has it)");
  return o.model;
}

template <class Model>
void generate(const Model& model, const llm::Tokenizer& tokenizer, const GenerateJob& o) {
  auto stream = llm::generate(model, tokenizer, o.prompt, o.options);
  show(o.prompt);
  Stopwatch watch;
  stream.prefill();
  const double prefill = watch.seconds();
  watch.restart();
  for (const auto piece : stream) show(piece);
  const double decode = watch.seconds();
  std::printf("\n");
  std::fflush(stdout);
  if (o.options.max_new_tokens == 0) return;
  const std::size_t prompt = stream.tokens().prompt_size(), drawn = stream.tokens().sequence().size() - prompt;
  print_rate("prefill", prompt, prefill);
  print_rate("decode", drawn > 0 ? drawn - 1 : 0, decode);  // prefill has drawn the first
}

/// A model that train saved; its tokenizer stands in the checkpoint.
void continue_with_trained([[maybe_unused]] const GenerateJob& o) {
#if defined(LLM_EXAMPLE_MODEL)
  throw llm::ValueError(o.model + ": is a checkpoint of train, which the program generate of the library's own build continues");
#else
  const auto info = llm::read_checkpoint_info(o.model);
  const llm::Tokenizer tokenizer = llm::CharTokenizer::from_characters(info.notes.tokenizer);
  with_model(info.config, [&]<const llm::Config & C>(std::string_view) { generate(llm::load<C>(o.model), tokenizer, o); });
#endif
}

void continue_with_published(const GenerateJob& o) {
  with_published_model(o.model, "generate", [&]<const llm::Config & C>(std::string_view) {
    // On a thread of its own, if there is one to be had: its text is read by one core, while the weights come from the disk.
    auto tokenizer = std::async(std::launch::async | std::launch::deferred, llm::Tokenizer::from_file, tokenizer_source(o));
    const auto model = llm::load<C>(o.model);
    generate(model, tokenizer.get(), o);
  });
}

void set_variables(llm::ChatOptions& options, const std::vector<std::string>& variables) {
  for (const std::string& given : variables) {
    const std::size_t end = given.find('=');
    if (end == 0 || end == std::string::npos) throw llm::ValueError("--set " + given + ": expected NAME=VALUE");
    const std::string value = given.substr(end + 1);
    if (value == "true" || value == "false")
      options.variables.emplace_back(given.substr(0, end), value == "true");
    else
      options.variables.emplace_back(given.substr(0, end), value);
  }
}

/// Separate windows begin with the model's BOS, if it expects one.
llm::PerplexityOptions windows_of(const PerplexityJob& o, std::int64_t max_seq_len, const llm::Tokenizer& tokenizer,
                                  const std::vector<llm::Token>& ids) {
  const std::int64_t context = o.context == 0 ? (std::min)(std::int64_t{512}, max_seq_len) : o.context;
  if (!o.separate) return {.context = context, .stride = o.stride == 0 ? (context + 1) / 2 : o.stride};
  const auto bos = tokenizer.bos_id();
  const bool expects = bos && !ids.empty() && ids.front() == *bos;
  return llm::PerplexityOptions::separate(context, expects ? bos : std::nullopt);
}

template <const llm::Config& C>
void measure(const PerplexityJob& o, std::string_view name) {
  const auto tokenizer = llm::Tokenizer::from_file(tokenizer_source(o));
  std::vector<llm::Token> ids = tokenizer.encode(llm::read_text(o.text), {.parse_special = o.special});
  if (o.most > 0 && static_cast<std::int64_t>(ids.size()) > o.most) ids.resize(static_cast<std::size_t>(o.most));
  const auto model = llm::load<C>(o.model);
  std::printf("%s, %zu tokens\n", std::string(name).c_str(), ids.size());
  const bool terminal = is_terminal(stdout);
  const Stopwatch clock;
  const auto result = llm::perplexity(model, ids, windows_of(o, C.max_seq_len, tokenizer, ids), [&](const llm::Perplexity& so_far) {
    if (!terminal) return;
    std::printf("\r\033[K%lld windows, perplexity %.4f", static_cast<long long>(so_far.windows), so_far.perplexity());
    std::fflush(stdout);
  });
  const double seconds = clock.seconds();
  std::printf("%sperplexity %.4f, %.5f nats a token, of %lld tokens in %lld windows\n", terminal ? "\r\033[K" : "", result.perplexity(),
              result.mean(), static_cast<long long>(result.tokens), static_cast<long long>(result.windows));
  std::fprintf(stderr, "%.1f s, %.1f tokens/s\n", seconds, static_cast<double>(ids.size()) / seconds);
}

}  // namespace

void run(const GenerateJob& job) {
  llm::validate(job.options.sampling());
  llm::set_num_threads(job.threads);
  std::filesystem::exists(llm::checkpoint_path(job.model)) ? continue_with_trained(job) : continue_with_published(job);
}

bool run(const ChatJob& job) {
  llm::validate(job.options.sampling());
  llm::set_num_threads(job.threads);
  ChatLoopOptions options{.system = job.system, .generate = job.options, .chat = {}, .timings = job.timings};
  set_variables(options.chat, job.variables);
  bool good = false;
  with_published_model(job.model, "chat", [&]<const llm::Config & C>(std::string_view) {
    const llm::ChatFormat format = llm::load_chat_format(tokenizer_source(job), job.chat_template);
    const auto model = llm::load<C>(job.model);
    llm::Session session(model, (std::min)(job.context, C.max_seq_len));
    good = ChatLoop(session, format, options).run();
  });
  return good;
}

void run(const PerplexityJob& job) {
  llm::set_num_threads(job.threads);
  with_published_model(job.model, "perplexity", [&]<const llm::Config & C>(std::string_view name) { measure<C>(job, name); });
}

}  // namespace examples
