// Talks with a published model: a Hugging Face folder or a .gguf file, with its own tokenizer and chat template.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <llm/chat.hpp>
#include <llm/io/load.hpp>

#include "support/chat_loop.hpp"
#include "support/published_models.hpp"
#include "support/sampling_options.hpp"

namespace {

struct Options {
  std::string model, chat_template;
  std::vector<std::string> variables;  // name=value
  examples::ChatLoopOptions loop;
  std::int64_t context = 2048;
  int threads = 0;
};

void set_variables(Options& o) {
  for (const std::string& given : o.variables) {
    const std::size_t end = given.find('=');
    if (end == 0 || end == std::string::npos) throw llm::ValueError("--set " + given + ": expected NAME=VALUE");
    const std::string value = given.substr(end + 1);
    if (value == "true" || value == "false")
      o.loop.chat.variables.emplace_back(given.substr(0, end), value == "true");
    else
      o.loop.chat.variables.emplace_back(given.substr(0, end), value);
  }
}

bool run(Options& o) {
  llm::set_num_threads(o.threads);
  set_variables(o);
  bool good = false;
  examples::with_published_model(o.model, "chat", [&]<const llm::Config & C>(std::string_view) {
    const llm::ChatFormat format = llm::load_chat_format(o.model, o.chat_template);
    const auto model = llm::load<C>(o.model);
    llm::Session session(model, (std::min)(o.context, C.max_seq_len));
    good = examples::ChatLoop(session, format, o.loop).run();
  });
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  llm::GenerateOptions& g = o.loop.generate;
  CLI::App app("Talks with a model: every line is a turn. /reset begins anew, /exit ends, Ctrl-C stops an answer.");
  app.option_defaults()->always_capture_default();
  app.add_option("model", o.model, "a Hugging Face folder or a .gguf file")->required();
  app.add_option("--template", o.chat_template, "another chat template than the model's: a name such as chatml, or a .jinja file");
  app.add_option("--set", o.variables, "NAME=VALUE for the template, such as enable_thinking=false")->allow_extra_args(false);
  app.add_option("--system", o.loop.system, "what the model is told first");
  app.add_option("--context", o.context, "tokens that the conversation may have; it takes memory")->check(CLI::PositiveNumber);
  app.add_option("--max-new-tokens", g.max_new_tokens, "of an answer; -1: as many as fit the context");
  examples::add_sampling_options(app, g);
  app.add_flag("--show-special", g.show_special, "shows special tokens as they are spelled");
  app.add_flag("--timings", o.loop.timings, "prints how fast prompt and answer were computed, and what was kept from before");
  app.add_option("--threads", o.threads, "0: all cores")->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chat: %s\n", error.what());
    return 1;
  }
}
