// Tells what a model needs and what fits a machine, and whether a model's files fit its config, without loading weights.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <llm/configs/all.hpp>
#include <llm/io/atomic_file.hpp>
#include <llm/io/checkpoint_files.hpp>
#include <llm/io/config_header.hpp>

#include "support/inspect_json.hpp"
#include "support/inspect_report.hpp"
#include "support/inspect_text.hpp"
#include "support/units.hpp"

namespace {

namespace inspect = examples::inspect;

struct Options {
  std::string model, config, memory, prefix, emit, output;
  std::int64_t context = 0, batch = 1;
  bool json = false;
};

/// A mistake of the one who calls.
struct UsageError : llm::Error {
  using Error::Error;
};

inspect::Setting setting_of(const Options& o, const llm::Config& c) {
  inspect::Setting setting{.context = o.context == 0 ? c.max_seq_len : o.context, .batch = o.batch};
  if (setting.context < 1 || setting.context > c.max_seq_len)
    throw UsageError(llm::detail::concat("--context ", o.context, " is not in 1 .. ", c.max_seq_len, ", the positions of this model"));
  if (setting.batch < 1) throw UsageError(llm::detail::concat("--batch ", o.batch, " is not positive"));
  if (o.memory.empty()) return setting;
  const auto memory = examples::parse_bytes(o.memory);
  if (!memory) throw UsageError("--memory " + llm::detail::in_quotes(o.memory) + " is no size such as 24GB, 24GiB or 800MB");
  setting.memory = *memory;
  return setting;
}

/// --config is for files that do not say what model they are; elsewhere it would be ignored.
void refuse_config(const Options& o) {
  if (!o.config.empty()) throw UsageError("--config " + o.config + ": " + o.model + " already says what model it is");
}

/// A config of the library, or what a path holds.
inspect::Report report_of(const Options& o, std::optional<llm::PublishedConfig>& model) {
  if (const llm::Config* named = llm::configs::find(o.model)) {
    refuse_config(o);
    model = {*named, llm::Family::llama, o.model};
    return inspect::account(*named, o.model, setting_of(o, *named));
  }
  if (!std::filesystem::exists(o.model))
    throw UsageError(o.model + ": no config of the library has this name (docs/models.md lists them), and there is no such file or folder");
  const auto files = llm::CheckpointFiles::open(o.model);
  model = files.model();
  if (model) refuse_config(o);
  if (!model && !o.config.empty()) model = llm::read_hf_config(o.config);
  if (!model)
    throw llm::FileError(o.model + ": nothing says what model it is: there is no config.json beside it (hint: --config FILE names one)");
  inspect::Report report = inspect::account(model->config, o.model, setting_of(o, model->config));
  if (files.names() != llm::TensorNames::library) report.family = to_string(model->family);
  if (files.has_weights())
    report.files = inspect::Files{files.paths(), llm::check_tensors(*model, files.names(), files.tensors(), {.prefix = o.prefix})};
  return report;
}

/// The header, where the files match; else what is wrong, to the error output.
int emit(const Options& o, const llm::PublishedConfig& model, const inspect::Report& report) {
  if (report.files && !report.files->check.matches()) {
    for (const auto& problem : report.files->check.problems)
      std::fprintf(stderr, "inspect: %s: %s\n", o.model.c_str(), problem.text.c_str());
    return 1;
  }
  const std::string header = llm::config_header(model, o.emit);
  if (o.output.empty()) {
    std::printf("%s", header.c_str());
    return 0;
  }
  llm::AtomicFile file(o.output);
  file.write(header);
  file.commit();
  return 0;
}

int run(const Options& o) {
  std::optional<llm::PublishedConfig> model;
  const inspect::Report report = report_of(o, model);
  if (!o.emit.empty()) return emit(o, *model, report);
  o.json ? static_cast<void>(std::puts(inspect::json_text(report).c_str())) : inspect::print(report);
  return report.files && !report.files->check.matches() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app(
      "Counts a model, plans its memory, and compares its files with its config. Exit status 1 when they do not match, 2 when "
      "something cannot be read or is asked wrongly.");
  app.add_option("model", o.model, "a config of the library, a config.json, a model's folder, a .gguf or .safetensors file")->required();
  app.add_option("--config", o.config, "the config.json of a .safetensors file that has none beside it");
  app.add_option("--memory", o.memory, "what there is, as 24GB, 24GiB or 800MB: says what fits");
  app.add_option("--context", o.context, "positions of a sequence; without it the model's most");
  app.add_option("--batch", o.batch, "sequences at a time");
  app.add_option("--prefix", o.prefix, "a word before all names of the file's tensors, as _orig_mod.");
  app.add_flag("--json", o.json, "prints one JSON object");
  auto* emit = app.add_option("--emit-config", o.emit, "prints a C++ header that defines the model's config under this name");
  app.add_option("-o,--output", o.output, "the file for the header")->needs(emit);
  try {
    app.parse(argc, argv);
    const int status = run(o);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw llm::FileError("the output cannot be written");
    return status;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "inspect: %s\n", error.what());
    return 2;
  }
}
