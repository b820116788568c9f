// The files of a model that a program is given.
#pragma once

#include <string>

#include <llm/core/error.hpp>
#include <llm/io/checkpoint_files.hpp>

namespace examples {

/// Opens them; their model() is there. Throws FileError when they cannot be read or nothing says what model they are of.
inline llm::CheckpointFiles open_model(const std::string& path) {
  auto files = llm::CheckpointFiles::open(path);
  if (!files.model()) throw llm::FileError(path + ": nothing says what model it is: there is no config.json beside it");
  return files;
}

}  // namespace examples
