// The program behind llm_add_model: writes the C++ header of a checkpoint's config, when its tensors fit that.
#include <cstdio>
#include <exception>
#include <string>

#include <llm/io/atomic_file.hpp>
#include <llm/io/checkpoint_files.hpp>
#include <llm/io/config_header.hpp>
#include <llm/io/tensor_check.hpp>

namespace {

/// What is wrong with the tensors, one a line; empty when they fit.
std::string complaints(const llm::CheckpointFiles& files) {
  std::string text;
  if (!files.has_weights()) return text;
  const llm::TensorCheck check = llm::check_tensors(*files.model(), files.names(), files.tensors());
  for (const llm::TensorProblem& problem : check.problems) text += "\n  " + problem.text;
  return text;
}

void write_header(const std::string& checkpoint, const std::string& name, const std::string& path) {
  const auto files = llm::CheckpointFiles::open(checkpoint);
  if (!files.model()) throw llm::FileError(checkpoint + ": nothing says what model it is: there is no config.json beside it");
  if (const std::string text = complaints(files); !text.empty())
    throw llm::FileError(checkpoint + ": the tensors do not fit the config:" + text);
  llm::AtomicFile file(path);
  file.write(llm::config_header(*files.model(), name));
  file.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: llm_emit_config CHECKPOINT NAME HEADER\n");
    return 2;
  }
  try {
    write_header(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "llm_emit_config: %s\n", error.what());
    return 1;
  }
}
